//! Reads one JSON-RPC message, or says which error answers it.

use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, RequestId},
};
use serde_json::Value;

/// A message that cannot be taken, and what to answer, if anything.
#[derive(Debug)]
pub(super) struct Refused {
    /// Whom to answer; none where the id could not be read.
    pub(super) id: Option<RequestId>,
    /// What to answer. Notifications are never answered.
    pub(super) error: Option<ErrorData>,
}

/// What one line or body holds.
#[derive(Debug)]
pub(super) enum Parsed {
    /// One message.
    One(Box<ClientJsonRpcMessage>),
    /// Several, as versions up to 2025-03-26 allow.
    Batch(Vec<Value>),
}

/// Reads a line or body.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, Refused> {
    if bytes.trim_ascii_start().first() != Some(&b'[')
        && let Ok(message) = serde_json::from_slice::<ClientJsonRpcMessage>(bytes)
    {
        return Ok(Parsed::One(Box::new(message)));
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|_| Refused {
        id: None,
        error: Some(ErrorData::parse_error("the message is not valid JSON in UTF-8", None)),
    })?;
    match value {
        Value::Array(messages) if !messages.is_empty() => Ok(Parsed::Batch(messages)),
        value => from_value(value).map(|message| Parsed::One(Box::new(message))),
    }
}

/// Reads one message that is JSON already.
pub(super) fn from_value(value: Value) -> Result<ClientJsonRpcMessage, Refused> {
    let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    let is_notification = value.get("id").is_none() && value.get("method").is_some_and(Value::is_string);
    let is_response = value.get("result").is_some() || value.get("error").is_some();
    let has_version = value.get("jsonrpc").is_some_and(|version| version == "2.0");
    let has_method = value.get("method").is_some_and(Value::is_string);
    serde_json::from_value(value).map_err(|_| {
        let error = match &id {
            _ if is_response || (has_version && is_notification) => None,
            // Nothing but the parameters is left to be wrong.
            Some(_) if has_version && has_method => {
                Some(ErrorData::invalid_params("the parameters must be an object", None))
            }
            _ => Some(ErrorData::invalid_request("the message is not a JSON-RPC 2.0 request", None)),
        };
        Refused { id, error }
    })
}

/// The answer to a batch where the version in use has none.
pub(super) fn batch_refused() -> ErrorData {
    ErrorData::invalid_request("batches exist only up to protocol version 2025-03-26; send one message", None)
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorCode;

    use super::*;

    #[track_caller]
    fn check(message: &str, id: Option<i64>, code: Option<ErrorCode>) {
        let refused = match parse(message.as_bytes()) {
            Ok(parsed) => panic!("{message} was taken as {parsed:?}"),
            Err(refused) => refused,
        };
        assert_eq!(refused.error.map(|error| error.code), code, "{message}");
        assert_eq!(refused.id, id.map(RequestId::Number), "{message}");
    }

    #[test]
    fn what_is_not_json_is_a_parse_error() {
        for message in ["{", "nonsense", "{\"jsonrpc\":\"2.0\",\"id\":1,", "[1,"] {
            check(message, None, Some(ErrorCode::PARSE_ERROR));
        }
        assert!(parse(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}").is_err());
    }

    #[test]
    fn what_is_no_request_is_answered_with_its_id_where_it_has_one() {
        check("42", None, Some(ErrorCode::INVALID_REQUEST));
        check("[]", None, Some(ErrorCode::INVALID_REQUEST));
        check(r#"{"id":1,"method":"ping"}"#, Some(1), Some(ErrorCode::INVALID_REQUEST));
        check(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Some(1), Some(ErrorCode::INVALID_REQUEST));
        check(r#"{"jsonrpc":"2.0","id":1}"#, Some(1), Some(ErrorCode::INVALID_REQUEST));
        check(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None, Some(ErrorCode::INVALID_REQUEST));
        check(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, None, Some(ErrorCode::INVALID_REQUEST));
    }

    #[test]
    fn parameters_that_are_no_object_are_invalid_parameters() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#,
            Some(1),
            Some(ErrorCode::INVALID_PARAMS),
        );
    }

    #[test]
    fn notifications_and_requests_with_odd_parameters_are_still_messages() {
        assert!(parse(br#"{"jsonrpc":"2.0","method":"notifications/unheard_of"}"#).is_ok());
        assert!(parse(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#).is_ok());
        assert!(parse(br#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}"#).is_ok());
    }

    #[test]
    fn a_batch_is_told_apart() {
        assert!(matches!(parse(b" [1,2]"), Ok(Parsed::Batch(messages)) if messages.len() == 2));
    }
}
