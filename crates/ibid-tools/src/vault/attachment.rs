//! `get_attachment`: a file beside the notes, described or downloaded.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ibid_api::{Attachment, AttachmentBody, Engine, Error, ErrorCode, RelPath, Result, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ATTACHMENT_BYTES, RESULT_BYTES, Vault, answer::WarningShape, path::spellings};
use crate::Spec;

pub(super) const GET_ATTACHMENT: Spec = Spec::read(
    "get_attachment",
    "Read an attachment",
    "Describes a file beside the notes (name, media type, size), or with download returns its bytes as \
     base64. Paths come from the `attachments` of get_note and are relative to the root of the vault. \
     Refuses downloads over 10 MiB unless allow_large is true, and any that does not fit in an answer; the \
     HTTP API is better for large files. Notes, hidden and excluded files are not attachments.",
)
.examples(&[
    r#"{"vault_relative_path":"images/plan.png"}"#,
    r#"{"vault_relative_path":"images/plan.png","download":true}"#,
]);

/// The rest of a tool result with a file in it.
const OVERHEAD: u64 = 64 * 1024;
/// Largest file an answer can hold: it is there twice, and base64 makes four bytes of three.
const LARGEST: u64 = (RESULT_BYTES - OVERHEAD) / 2 / 4 * 3;

/// Arguments of `get_attachment`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct GetAttachment {
    /// Path of the file, relative to the root of the vault.
    vault_relative_path: String,
    /// Whether the bytes are wanted, not only the description.
    #[serde(default)]
    download: bool,
    /// Whether a file over 10 MiB is wanted all the same.
    #[serde(default)]
    allow_large: bool,
}

/// A file beside the notes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentReply {
    /// Path inside the vault.
    path: RelPath,
    /// Name of the file.
    file_name: String,
    /// Media type; `application/octet-stream` when unknown.
    content_type: String,
    /// Size in bytes.
    size: u64,
    /// Whether the bytes can be asked for.
    download_available: bool,
    /// The bytes, when they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// How `content` is encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<Encoding>,
    /// What else to know about the answer.
    #[schemars(with = "Vec<WarningShape>")]
    warnings: Vec<Warning>,
}

/// How bytes are written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    /// RFC 4648 with padding.
    Base64,
}

impl From<Attachment> for AttachmentReply {
    fn from(attachment: Attachment) -> Self {
        Self {
            path: attachment.path,
            file_name: attachment.file_name,
            content_type: attachment.content_type,
            size: attachment.size,
            download_available: true,
            encoding: attachment.body.is_some().then_some(Encoding::Base64),
            content: attachment.body.map(|bytes| BASE64_STANDARD.encode(bytes)),
            warnings: Vec::new(),
        }
    }
}

pub(super) async fn get_attachment(vault: Arc<Vault>, input: GetAttachment) -> Result<AttachmentReply> {
    let limit = DownloadLimit { most: LARGEST, allow_large: input.allow_large };
    let engine = vault.engine().await?;
    read_attachment(engine, &input.vault_relative_path, input.download.then_some(limit))
        .await
        .map(AttachmentReply::from)
}

/// How large a download may be.
#[derive(Debug, Clone, Copy)]
pub struct DownloadLimit {
    /// Never more than this many bytes.
    pub most: u64,
    /// Whether more than the usual limit is wanted.
    pub allow_large: bool,
}

/// An attachment as every transport serves it: under any spelling of its path, and within its limits.
pub async fn read_attachment(
    engine: &dyn Engine,
    path: &str,
    download: Option<DownloadLimit>,
) -> Result<Attachment> {
    let mut missing = None;
    for path in spellings(path)? {
        // Looked at first, so that what is too large is never read.
        let described = engine.attachment(path.clone(), AttachmentBody::Omit).await;
        let described = match described {
            Err(error) if error.code == ErrorCode::AttachmentNotFound => {
                missing = missing.or(Some(error));
                continue;
            }
            other => other?,
        };
        let Some(limit) = download else { return Ok(described) };
        let most = if limit.allow_large { limit.most } else { ATTACHMENT_BYTES.min(limit.most) };
        if described.size > most {
            return Err(too_large(limit.allow_large, most));
        }
        return engine.attachment(path, AttachmentBody::UpTo(most)).await.map_err(|error| {
            if error.code == ErrorCode::AttachmentTooLarge {
                too_large(limit.allow_large, most)
            } else {
                error
            }
        });
    }
    Err(missing.unwrap_or_else(|| Error::new(ErrorCode::AttachmentNotFound, "no attachment has that path")))
}

fn too_large(allowed_large: bool, most: u64) -> Error {
    let error = Error::new(
        ErrorCode::AttachmentTooLarge,
        format!("the attachment is larger than {} MiB", most >> 20),
    );
    if allowed_large {
        error.with_hint("download it over the HTTP API, `GET /attachments/…?download=true&allowLarge=true`")
    } else {
        error.with_hint("ask again with `allow_large`")
    }
}
