//! How the outcome of a tool looks to an MCP client.

use ibid_api::{Error, ErrorCode};
use ibid_tools::{ErrorStyle, Failure, Tool};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, ErrorCode as RpcCode},
};
use serde_json::{Value, json};

/// The reply as JSON text, and the same object as structured content.
pub(super) fn success(reply: Value) -> CallToolResult {
    CallToolResult::structured(reply)
}

/// A failure in the style of the tool's contract.
pub(super) fn failure(tool: &Tool, failure: &Failure) -> Result<CallToolResult, ErrorData> {
    match tool.errors() {
        ErrorStyle::ToolResult => {
            let mut result = CallToolResult::structured_error(json!({ "error": failure.error }));
            // The model reads the text; the object is for programs.
            result.content = vec![ContentBlock::text(sentence(&failure.error))];
            Ok(result)
        }
        ErrorStyle::TextResult => {
            Ok(CallToolResult::error(vec![ContentBlock::text(sentence(&failure.error))]))
        }
        ErrorStyle::JsonRpc => Err(rpc_error(failure.rpc_code(), &failure.error)),
    }
}

/// The answer to a call that outlived its deadline.
pub(super) fn timeout(tool: &Tool) -> Result<CallToolResult, ErrorData> {
    let error = Error::new(ErrorCode::Timeout, format!("`{}` took longer than allowed", tool.spec.name))
        .with_hint("ask for less at once, or try again later");
    failure(tool, &error.into())
}

fn rpc_error(code: i32, error: &Error) -> ErrorData {
    let mut data = json!({ "code": error.code.rpc_name(), "errorCode": error.code.rpc_name() });
    if let Some(details) = &error.details {
        data["details"] = details.clone();
    }
    ErrorData::new(RpcCode(code), sentence(error), Some(data))
}

fn sentence(error: &Error) -> String {
    match &error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}

/// Gives back the contract's code to an error that rmcp re-coded: to clients of the newer era it turns −32002
/// into −32602, taking it for "resource not found".
pub(super) fn restore_code(error: &mut ErrorData) {
    let code = error.data.as_ref().and_then(|data| data.get("errorCode"));
    let recoded = error.code == RpcCode::INVALID_PARAMS
        && code.is_some_and(|code| code == ErrorCode::IndexIncompatible.as_str());
    if recoded {
        error.code = RpcCode(ErrorCode::IndexIncompatible.rpc_code());
    }
}
