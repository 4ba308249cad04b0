//! The files of the studio's page, which `studio/build` builds. With the feature `assets`, the
//! program contains these files.

#[cfg(feature = "assets")]
static PAGE_FILES: include_dir::Dir<'static> = include_dir::include_dir!("$CARGO_MANIFEST_DIR/dist");

/// Returns a file of the studio's page by its path, such as `assets/index.js`; `None` for an
/// unknown path.
#[cfg(feature = "assets")]
pub(crate) fn page_file(path: &str) -> Option<&'static [u8]> {
    PAGE_FILES.get_file(path).map(include_dir::File::contents)
}

/// Returns `None`: without the feature `assets` there is no page, and the server answers API
/// requests only.
#[cfg(not(feature = "assets"))]
pub(crate) fn page_file(_: &str) -> Option<&'static [u8]> {
    None
}

/// Returns the MIME type for a file, based on its extension.
pub(crate) fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("json" | "map") => "application/json",
        _ => "application/octet-stream",
    }
}
