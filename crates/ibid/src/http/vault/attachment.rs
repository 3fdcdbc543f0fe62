//! `/attachments/…`: files beside the notes, described as JSON or sent as they are.

use std::sync::Arc;

use axum::{
    extract::{Path, Query, State, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use ibid_api::{Attachment, Error, ErrorCode, Result};
use ibid_tools::{
    Envelope, RawAnswer,
    vault::{self, AttachmentReply, DownloadLimit},
};

use super::{VaultService, reply};

/// Larger files are not held in memory to be sent.
const LARGEST: u64 = 1024 * 1024 * 1024;

pub(super) async fn without_path() -> Response {
    reply::error(&no_path())
}

fn no_path() -> Error {
    Error::new(ErrorCode::InvalidPath, "the path of an attachment is missing or not UTF-8")
        .with_hint("ask for `/attachments/` and the path of a file inside the vault")
}

pub(super) async fn get(
    State(service): State<Arc<VaultService>>,
    path: Result<Path<String>, PathRejection>,
    Query(query): Query<Vec<(String, String)>>,
) -> Response {
    let Ok(Path(path)) = path else { return without_path().await };
    let attachment = match fetch(&service, &path, &query).await {
        Ok(attachment) => attachment,
        Err(error) => return reply::error(&error),
    };
    let Attachment { body: Some(bytes), content_type, file_name, .. } = attachment else {
        let described = serde_json::to_value(AttachmentReply::from(attachment));
        return described.map_or_else(
            |_| reply::error(&Error::internal()),
            |described| reply::success(Envelope::DataAndWarnings, described),
        );
    };
    reply::raw(RawAnswer { content_type, file_name: Some(file_name), bytes }).into_response()
}

async fn fetch(service: &VaultService, path: &str, query: &[(String, String)]) -> Result<Attachment> {
    let download = switch(query, ["download", "download"])?;
    let allow_large = switch(query, ["allowLarge", "allow_large"])?;
    let engine = service.engine.as_ref();
    if engine.status().await?.sources.is_empty() {
        return Err(vault::not_configured());
    }
    let limit = DownloadLimit { most: LARGEST, allow_large };
    vault::read_attachment(engine, path, download.then_some(limit)).await
}

/// A query parameter that is `true` or `false`, under either spelling.
fn switch(query: &[(String, String)], names: [&str; 2]) -> Result<bool> {
    let mut values = query.iter().filter(|(name, _)| names.contains(&name.as_str()));
    match (values.next().map(|(_, value)| value.as_str()), values.next()) {
        (None | Some("false"), None) => Ok(false),
        (Some("true"), None) => Ok(true),
        _ => Err(Error::new(
            ErrorCode::InvalidParameter,
            format!("`{}` must be given once, as `true` or `false`", names[0]),
        )),
    }
}
