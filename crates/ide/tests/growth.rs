//! Checks that the answers of an editor take memory in proportion to the file. The test counts the
//! bytes that the answers request from the allocator, with n and with 2n routes. The counts do not
//! depend on the machine or its load.

#[path = "../../../tests/support/counting.rs"]
mod counting;

use counting::requested_bytes;
use rulec_base::span::FileId;
use rulec_ide::{Analysis, tokens};
use rulec_syntax::loader::MemoryLoader;

/// Returns the text of a file with this number of routes.
fn routes(count: usize) -> String {
    let mut text = String::from("let money = text contains any [\"refund\", \"money\"]\n");
    for number in 0..count {
        text += &format!(
            "route r{number} when money and ctx.a{} == {number} and text contains \"word{number}\" -> h{}\n",
            number % 40,
            number % 9
        );
    }
    text
}

/// Returns the bytes that are requested to analyse a file, and for each answer after that.
fn allocated(count: usize) -> [usize; 4] {
    let (text, main) = (routes(count), FileId(0));
    let at = (text.len() / 2) as u32;
    let at = at + text[at as usize..].find(" and ctx.").expect("a route follows") as u32 + 5;
    let loader = MemoryLoader::new().with("a.rules", text.clone());
    let measure = |answer: &mut dyn FnMut()| {
        let before = requested_bytes();
        answer();
        requested_bytes() - before
    };
    let mut analysis = None;
    let checked = measure(&mut || analysis = Some(Analysis::new(&loader, "a.rules")));
    let analysis = analysis.expect("it is analysed");
    assert!(!analysis.is_compiled(), "an answer about names does not compile the rules");
    let completed = measure(&mut || assert!(analysis.complete(main, at).items.len() > 20));
    let hovered = measure(&mut || assert!(analysis.hover(main, at).is_some()));
    let coloured = measure(&mut || {
        assert!(tokens::coloured_tokens(main, &text, &analysis.index).len() > 10 * count);
    });
    assert!(!analysis.is_compiled(), "an answer about names does not compile the rules");
    [checked, completed, hovered, coloured]
}

#[test]
fn answers_take_memory_in_proportion_to_the_file() {
    // The first analysis also fills tables of the language.
    let _ = allocated(10);
    let (few, many) = (allocated(400), allocated(800));
    for (few, many) in few.into_iter().zip(many) {
        // Vectors grow by doubling, so the bytes may be a little more than twice as many.
        assert!(many < few * 5 / 2 + 100_000, "{few} bytes, then {many}");
    }
}
