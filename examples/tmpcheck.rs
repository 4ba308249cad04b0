use rulec::loader::*;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read(&path).unwrap();
    let mut l = MemoryLoader::new().with("main.rules", text);
    if let Ok(w) = std::fs::read("/tmp/scratch/shared/words.rules") {
        l = l.with("shared/words.rules", w);
    }
    let t = std::time::Instant::now();
    let loaded = load(&l, "main.rules");
    eprintln!("load {:?}", t.elapsed());
    let mut d = loaded.diagnostics.clone();
    let t = std::time::Instant::now();
    let (p, more) = rulec::sema::check::check(&loaded);
    d.extend(more);
    eprintln!("check {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let (n, more) = rulec::sema::normal::build(&p);
    d.extend(more);
    eprintln!(
        "normal {:?} {} exprs {} preds {} conds {} slots",
        t.elapsed(),
        n.exprs.len(),
        n.preds.len(),
        n.conds.len(),
        p.slots.len()
    );
    for x in d.iter().take(30) {
        let at = x.span().map(|s| loaded.sources.position(s));
        println!(
            "{} {:?} {} | {:?} | {:?}",
            x.code,
            at,
            x.message,
            x.labels
                .iter()
                .map(|l| (loaded.sources.slice(l.span).chars().take(40).collect::<String>(), l.text.clone()))
                .collect::<Vec<_>>(),
            x.help
        );
    }
    if std::env::args().nth(2).is_some() {
        println!("{:#?}", n);
    }
}
