//! Help texts for paths of imports and list files that cannot be read. Such a path may be a URL or
//! a pattern, or lack the extension of the file.

use super::{ImportLoader, Loader, resolve_path};
use rulec_base::diag::{Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Spanned;

impl ImportLoader<'_> {
    /// Adds a help text to `diagnostic` for `path`, which the file `importer_path` names and which
    /// cannot be read. `extension` is the usual extension of such files. Without a better remedy,
    /// the help text is `general_help`.
    pub(super) fn with_path_remedy(
        &self,
        diagnostic: Diagnostic,
        importer_path: &str,
        path: &Spanned<String>,
        extension: &str,
        general_help: Message,
    ) -> Diagnostic {
        let Spanned { node: written, span } = path;
        if written.contains("://") || written.starts_with("www.") {
            let name = written.split(['?', '#']).next().unwrap_or(written).trim_end_matches('/');
            let name = name.rsplit('/').next().unwrap_or(name);
            let help = message!("save it in the folder of this file, and write its name: \"{name}\"");
            return Diagnostic { message: message!("`{written}` is a URL, not a file"), ..diagnostic }
                .help(help);
        }
        // A regular expression around the name of a file.
        let name = written.replace(".*", "").replace('\\', "");
        let name = name.trim_matches(['^', '$', '/']);
        let is_pattern = written.contains(".*") || written.starts_with('^') || written.ends_with('$');
        let is_file = |path: &str| {
            !path.is_empty()
                && resolve_path(importer_path, path).is_some_and(|path| self.loader.load(&path).is_ok())
        };
        if is_pattern && is_file(name) {
            let help = message!(
                "a path has no pattern and names one file: write \"{name}\"",
                name = name.to_owned()
            );
            return diagnostic.help(help).likely_fix(*span, format!("\"{name}\""));
        }
        if written.contains(['*', '?']) {
            let example = format!("example.{extension}");
            let help =
                message!("a path has no pattern: write a statement for each file, as for \"{example}\"");
            return diagnostic.help(help);
        }
        let (folder, name) = written.rsplit_once(['/', '\\']).unwrap_or(("", written));
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let in_folder = |name: String| if folder.is_empty() { name } else { format!("{folder}/{name}") };
        let candidates = [
            in_folder(format!("{name}.{extension}")),
            in_folder(format!("{stem}.{extension}")),
            written.to_lowercase(),
            in_folder(format!("{stem}.{extension}")).to_lowercase(),
            name.to_owned(),
            format!("{stem}.{extension}"),
        ];
        let is_file = |candidate: &&String| {
            *candidate != written
                && resolve_path(importer_path, candidate).is_some_and(|path| self.loader.load(&path).is_ok())
        };
        let misspelt = names_one_typo_away(stem).map(|stem| in_folder(format!("{stem}.{extension}")));
        let near = candidates
            .iter()
            .find(is_file)
            .cloned()
            .or_else(|| misspelt.into_iter().find(|name| is_file(&name)));
        match near {
            Some(near) => {
                diagnostic.help(message!("did you mean \"{near}\"?")).likely_fix(*span, format!("\"{near}\""))
            }
            None => diagnostic.help(general_help),
        }
    }
}

/// Returns the path of an existing rules file whose name differs from a missing one by one typing
/// error or by its extension. `None` if there is no such file.
pub(super) fn find_similar_file(loader: &dyn Loader, path: &str) -> Option<String> {
    let (folder, name) = path.split_at(path.rfind('/').map_or(0, |at| at + 1));
    let stem = name.strip_suffix(".rules").unwrap_or(name);
    let join = |stem: &str| format!("{folder}{stem}.rules");
    let names = std::iter::once(stem.to_owned()).chain(names_one_typo_away(stem));
    names.map(|stem| join(&stem)).find(|near| near != path && loader.load(near).is_ok())
}

/// Returns the names that differ from a name by one typing error: a missing or superfluous letter,
/// or two letters in the wrong order. Empty for a long name.
fn names_one_typo_away(name: &str) -> impl Iterator<Item = String> + '_ {
    const MAX_NAME_LENGTH: usize = 24;
    let is_short = name.len() <= MAX_NAME_LENGTH && name.is_ascii();
    let positions = if is_short { 0..name.len() } else { 0..0 };
    let removed = positions.clone().map(|at| format!("{}{}", &name[..at], &name[at + 1..]));
    let exchanged = positions.clone().skip(1).map(|at| {
        let mut letters = name.as_bytes().to_vec();
        letters.swap(at - 1, at);
        String::from_utf8_lossy(&letters).into_owned()
    });
    let ends = positions.start..positions.end + usize::from(is_short);
    let added = ends.flat_map(move |at| {
        (b'a'..=b'z')
            .chain(*b"_-")
            .map(move |letter| format!("{}{}{}", &name[..at], letter as char, &name[at..]))
    });
    removed.chain(exchanged).chain(added).filter(|name| !name.is_empty())
}
