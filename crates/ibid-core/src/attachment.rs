//! Files beside the documents: which may be served, and as what.

use ibid_api::{Attachment, AttachmentBody, DocumentKind, Error, ErrorCode, RelPath};
use serde_json::json;

use crate::{
    parse::kind_of,
    source::{ReadError, SourceRoot},
};

/// Media types by extension, sorted.
const MEDIA_TYPES: &[(&str, &str)] = &[
    ("7z", "application/x-7z-compressed"),
    ("aac", "audio/aac"),
    ("avi", "video/x-msvideo"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("canvas", "application/json"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("eml", "message/rfc822"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("heic", "image/heic"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/x-icon"),
    ("ics", "text/calendar"),
    ("ipynb", "application/x-ipynb+json"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("m4a", "audio/mp4"),
    ("m4v", "video/mp4"),
    ("mid", "audio/midi"),
    ("mjs", "text/javascript"),
    ("mkv", "video/x-matroska"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ogg", "audio/ogg"),
    ("ogv", "video/ogg"),
    ("opus", "audio/opus"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("ps", "application/postscript"),
    ("rtf", "application/rtf"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("tsv", "text/tab-separated-values"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain"),
    ("vcf", "text/vcard"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// The media type of a file, by its extension.
pub(crate) fn media_type(path: &RelPath) -> &'static str {
    let extension = path.extension().unwrap_or_default();
    MEDIA_TYPES
        .binary_search_by(|(known, _)| (*known).cmp(&extension))
        .map_or("application/octet-stream", |index| MEDIA_TYPES[index].1)
}

/// An attachment of a source.
///
/// Checked in this order: it leads out of the source, it is a folder, it is a document or hidden, it is
/// missing. So nobody learns of a file they may not have whether it exists.
pub(crate) fn attachment(
    root: &SourceRoot,
    path: &RelPath,
    body: AttachmentBody,
) -> Result<Attachment, Error> {
    let real = match root.real(path) {
        Err(ReadError::Outside) => return Err(outside()),
        // What a link leads to may not be served; this counts as hidden, after the check for folders.
        Err(ReadError::Hidden) => return Err(not_allowed()),
        real => real.ok(),
    };
    if real.as_ref().is_some_and(|real| root.is_folder(real)) {
        return Err(Error::new(ErrorCode::InvalidPath, "the path is a folder").with_hint("name a file in it"));
    }
    let allowed = |path: &RelPath| root.shows(path, false) && kind_of(path) != Some(DocumentKind::Markdown);
    if !allowed(path) || real.as_ref().is_some_and(|real| !allowed(real)) {
        return Err(not_allowed());
    }
    let (size, body) = match body {
        AttachmentBody::Omit => (root.size(path).map_err(unreadable)?, None),
        AttachmentBody::UpTo(limit) => {
            let file = root.read(path, limit).map_err(unreadable)?;
            (file.bytes.len() as u64, Some(file.bytes))
        }
    };
    Ok(Attachment {
        path: path.clone(),
        file_name: path.file_name().to_owned(),
        content_type: media_type(path).to_owned(),
        size,
        body,
    })
}

fn unreadable(error: ReadError) -> Error {
    match error {
        ReadError::NotFound => missing(),
        ReadError::Outside => outside(),
        ReadError::Hidden | ReadError::NotAFile => not_allowed(),
        ReadError::Folder => Error::new(ErrorCode::InvalidPath, "the path is a folder"),
        ReadError::TooLarge { size } => {
            Error::new(ErrorCode::AttachmentTooLarge, "the attachment is larger than allowed")
                .with_hint("ask for it with large files allowed, or for its metadata only")
                .with_details(json!({ "size": size }))
        }
        ReadError::Io(kind) => {
            tracing::warn!(?kind, "an attachment could not be read");
            Error::new(ErrorCode::AttachmentNotFound, "the attachment cannot be read")
        }
    }
}

/// The error for an attachment that is nowhere.
pub(crate) fn missing() -> Error {
    Error::new(ErrorCode::AttachmentNotFound, "no attachment has this path")
        .with_hint("paths are relative to the root of the source")
}

fn outside() -> Error {
    Error::new(ErrorCode::PathOutsideVault, "the path leads out of the source")
}

fn not_allowed() -> Error {
    Error::new(ErrorCode::AttachmentNotAllowed, "this file may not be served as an attachment")
        .with_hint("documents are read as notes; hidden and excluded files are not served")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_sorted_and_found_whatever_the_case() {
        assert!(MEDIA_TYPES.is_sorted_by_key(|(extension, _)| *extension));
        for (path, want) in [
            ("a.png", "image/png"),
            ("a.PDF", "application/pdf"),
            ("a/b.tar.gz", "application/gzip"),
            ("a.unknown", "application/octet-stream"),
            ("a", "application/octet-stream"),
        ] {
            assert_eq!(media_type(&RelPath::parse(path).unwrap()), want, "{path}");
        }
    }
}
