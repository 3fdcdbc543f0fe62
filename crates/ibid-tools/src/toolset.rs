//! A toolset: a table of tools with one contract, and the builder that makes it from functions.

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

use futures_util::{FutureExt, future::BoxFuture};
use ibid_api::{Error, ErrorCode, Result};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    Call, JsonObject, names, schema,
    spec::{Envelope, ErrorStyle, Spec, UnknownArguments},
    validate::{self, Kind, Violation},
};

/// Where a failure arose; decides its JSON-RPC code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// An argument is missing, unknown or of the wrong type.
    Malformed,
    /// An argument has a value that is not allowed.
    Value,
    /// The tool itself failed.
    Tool,
}

/// A call that did not succeed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Where it arose.
    pub kind: FailureKind,
    /// What to tell the caller.
    pub error: Error,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { kind: FailureKind::Tool, error }
    }
}

impl Failure {
    /// The JSON-RPC code: malformed arguments are a protocol matter, all else has its own code.
    pub fn rpc_code(&self) -> i32 {
        match self.kind {
            FailureKind::Malformed => ErrorCode::InvalidInput.rpc_code(),
            FailureKind::Value | FailureKind::Tool => self.error.code.rpc_code(),
        }
    }
}

/// What all tools of a toolset share.
#[derive(Debug, Clone, Copy)]
struct Style {
    toolset: &'static str,
    instructions: &'static str,
    errors: ErrorStyle,
    unknown: UnknownArguments,
    envelope: Envelope,
    argument_codes: &'static [(&'static str, ErrorCode)],
    other_argument_code: ErrorCode,
}

type Run = Box<dyn Fn(Value, Call) -> BoxFuture<'static, Result<Value>> + Send + Sync>;

/// A schema that is made when somebody first looks at it: a server can say who it is without any.
pub type LazySchema = LazyLock<Arc<JsonObject>, Box<dyn FnOnce() -> Arc<JsonObject> + Send>>;

/// Makes the schema of a type.
type SchemaOf = fn() -> Result<JsonObject, schema::SchemaError>;

/// One tool: what the table says, both schemas, and the function.
pub struct Tool {
    /// What the table says.
    pub spec: Spec,
    /// Schema of the arguments.
    pub input: LazySchema,
    /// Schema of the reply.
    pub output: LazySchema,
    style: Style,
    run: Run,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.spec.name)
            .field("toolset", &self.style.toolset)
            .finish_non_exhaustive()
    }
}

impl Tool {
    /// Name of the toolset it belongs to.
    pub fn toolset(&self) -> &'static str {
        self.style.toolset
    }

    /// How its failures reach an MCP client.
    pub fn errors(&self) -> ErrorStyle {
        self.style.errors
    }

    /// Shape of its JSON over plain HTTP.
    pub fn envelope(&self) -> Envelope {
        self.style.envelope
    }

    /// Checks the arguments and runs the function. Dropping the future calls the work off.
    pub async fn call(&self, arguments: JsonObject, call: Call) -> Result<Value, Failure> {
        let input = self.checked(arguments).map_err(|violation| self.refuse(violation))?;
        (self.run)(input, call).await.map_err(|error| {
            // Arguments the schema allows and the type does not are still the caller's to mend.
            let kind = match error.code {
                ErrorCode::InvalidInput => FailureKind::Malformed,
                _ => FailureKind::Tool,
            };
            Failure { kind, error }
        })
    }

    fn checked(&self, arguments: JsonObject) -> Result<Value, Violation> {
        let arguments = names::canonical(&self.input, &self.spec, self.style.unknown, arguments)?;
        let mut arguments = Value::Object(arguments);
        validate::arguments(&self.input, &mut arguments)?;
        Ok(arguments)
    }

    fn refuse(&self, violation: Violation) -> Failure {
        let kind = match violation.kind {
            Kind::Missing | Kind::Type | Kind::Unknown => FailureKind::Malformed,
            Kind::Value => FailureKind::Value,
        };
        let code = self
            .style
            .argument_codes
            .iter()
            .find(|(argument, _)| *argument == violation.argument())
            .map_or(self.style.other_argument_code, |(_, code)| *code);
        Failure { kind, error: violation.into_error(code, &self.input, &self.spec) }
    }

    /// The tool as an MCP client sees it in `tools/list`.
    pub fn describe(&self) -> Value {
        json!({
            "name": self.spec.name,
            "title": self.spec.title,
            "description": self.spec.about,
            "inputSchema": **self.input,
            "outputSchema": **self.output,
            "annotations": self.spec.annotations(),
        })
    }
}

/// Tools with one contract.
#[derive(Debug, Clone)]
pub struct Toolset {
    style: Style,
    tools: Vec<Arc<Tool>>,
}

impl Toolset {
    /// Starts a table. `state` is handed to every function.
    pub fn build<S>(name: &'static str, state: S) -> Builder<S> {
        let style = Style {
            toolset: name,
            instructions: "",
            errors: ErrorStyle::default(),
            unknown: UnknownArguments::default(),
            envelope: Envelope::default(),
            argument_codes: &[],
            other_argument_code: ErrorCode::InvalidInput,
        };
        Builder { state, style, tools: Vec::new() }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.style.toolset
    }

    /// How to use its tools together.
    pub fn instructions(&self) -> &'static str {
        self.style.instructions
    }

    /// Its tools, in the order of the table.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The same toolset with only the tools `keep` accepts.
    pub(crate) fn retain(&self, keep: impl Fn(&Tool) -> bool) -> Self {
        let tools = self.tools.iter().filter(|tool| keep(tool)).cloned().collect();
        Self { style: self.style, tools }
    }
}

/// Makes a [`Toolset`] from functions.
pub struct Builder<S> {
    state: S,
    style: Style,
    tools: Vec<(Spec, SchemaOf, SchemaOf, Run)>,
}

impl<S> fmt::Debug for Builder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("style", &self.style).finish_non_exhaustive()
    }
}

impl<S: Clone + Send + Sync + 'static> Builder<S> {
    /// How to use the tools together: order, limits; no repetition of their descriptions.
    pub fn instructions(mut self, instructions: &'static str) -> Self {
        self.style.instructions = instructions;
        self
    }

    /// How failures reach an MCP client.
    pub fn errors(mut self, errors: ErrorStyle) -> Self {
        self.style.errors = errors;
        self
    }

    /// What becomes of arguments the schema does not know.
    pub fn unknown_arguments(mut self, unknown: UnknownArguments) -> Self {
        self.style.unknown = unknown;
        self
    }

    /// Shape of the JSON over plain HTTP.
    pub fn envelope(mut self, envelope: Envelope) -> Self {
        self.style.envelope = envelope;
        self
    }

    /// Error codes of bad arguments: by published name, and for all others.
    pub fn argument_codes(mut self, codes: &'static [(&'static str, ErrorCode)], other: ErrorCode) -> Self {
        self.style.argument_codes = codes;
        self.style.other_argument_code = other;
        self
    }

    /// Adds a tool; both schemas come from the function's own types.
    ///
    /// # Panics
    /// If a type has no schema every client takes (it contains itself, or is not a struct), or an example is
    /// not a JSON object: a defect in the table, found by the first test that builds it. Programs built for
    /// release look at a schema when they first need it.
    pub fn tool<I, O, F, Fut>(self, spec: Spec, function: F) -> Self
    where
        I: DeserializeOwned + JsonSchema,
        O: Serialize + JsonSchema,
        F: Fn(S, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O>> + Send + 'static,
    {
        self.tool_with_call(spec, move |state, input, _: Call| function(state, input))
    }

    /// Adds a tool that reports progress or does work that has to be told when to stop.
    ///
    /// # Panics
    /// As [`Builder::tool`].
    pub fn tool_with_call<I, O, F, Fut>(mut self, spec: Spec, function: F) -> Self
    where
        I: DeserializeOwned + JsonSchema,
        O: Serialize + JsonSchema,
        F: Fn(S, I, Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O>> + Send + 'static,
    {
        let name = spec.name;
        for example in spec.examples {
            let is_object = || serde_json::from_str::<JsonObject>(example).is_ok();
            debug_assert!(is_object(), "example of `{name}` is not a JSON object: {example}");
        }
        let state = self.state.clone();
        let run: Run = Box::new(move |arguments, call| {
            let input = match serde_json::from_value::<I>(arguments) {
                Ok(input) => input,
                Err(error) => {
                    let error = Error::new(ErrorCode::InvalidInput, error.to_string());
                    return std::future::ready(Err(error)).boxed();
                }
            };
            let reply = function(state.clone(), input, call);
            async move {
                serde_json::to_value(reply.await?).map_err(|error| {
                    tracing::error!(tool = name, %error, "a reply could not be written as JSON");
                    Error::internal()
                })
            }
            .boxed()
        });
        self.tools.push((spec, schema::input::<I>, schema::output::<O>, run));
        self
    }

    /// The finished table.
    ///
    /// # Panics
    /// If failures have no room in a reply: see [`ErrorStyle::ToolResult`].
    pub fn finish(self) -> Toolset {
        let style = self.style;
        let tools = self.tools.into_iter().map(|(spec, input, output, run)| {
            let name = spec.name;
            let input = LazySchema::new(Box::new(move || input_schema(name, input, style)));
            let output = LazySchema::new(Box::new(move || output_schema(name, output, style)));
            if cfg!(debug_assertions) {
                LazyLock::force(&input);
                LazyLock::force(&output);
            }
            Arc::new(Tool { spec, input, output, style, run })
        });
        Toolset { style, tools: tools.collect() }
    }
}

fn input_schema(name: &str, of_type: SchemaOf, style: Style) -> Arc<JsonObject> {
    let mut schema = of_type().unwrap_or_else(|error| panic!("input of `{name}`: {error}"));
    if style.unknown == UnknownArguments::Refuse {
        schema::close(&mut schema);
    }
    Arc::new(schema)
}

fn output_schema(name: &str, of_type: SchemaOf, style: Style) -> Arc<JsonObject> {
    let mut schema = of_type().unwrap_or_else(|error| panic!("output of `{name}`: {error}"));
    if style.errors == ErrorStyle::ToolResult {
        schema::with_error(&mut schema).unwrap_or_else(|error| panic!("output of `{name}`: {error}"));
    }
    Arc::new(schema)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, Serialize, JsonSchema)]
    struct Input {
        /// What to look for.
        #[schemars(length(min = 1))]
        query: String,
        #[serde(default = "ten")]
        #[schemars(range(min = 1, max = 50))]
        limit: u32,
    }

    fn ten() -> u32 {
        10
    }

    async fn echo(prefix: &'static str, mut input: Input) -> Result<Input> {
        if input.query == "fail" {
            return Err(Error::new(ErrorCode::NoteNotFound, "no such note"));
        }
        input.query.insert_str(0, prefix);
        Ok(input)
    }

    const ECHO: Spec = Spec::read("echo", "Echo", "Returns its input.").examples(&[r#"{"query":"ibid"}"#]);

    async fn call(toolset: &Toolset, arguments: Value) -> Result<Value, Failure> {
        toolset.tools()[0].call(arguments.as_object().cloned().unwrap(), Call::detached()).await
    }

    #[tokio::test]
    async fn a_function_and_a_line_make_a_tool() {
        let toolset = Toolset::build("test", "> ").tool(ECHO, echo).finish();
        let reply = call(&toolset, json!({"query": "a"})).await;
        assert_eq!(reply, Ok(json!({"query": "> a", "limit": 10})));
        insta::assert_json_snapshot!(toolset.tools()[0].describe());
    }

    #[tokio::test]
    async fn a_refused_argument_names_field_rule_and_example() {
        let toolset = Toolset::build("test", "").tool(ECHO, echo).finish();
        let failure = call(&toolset, json!({"query": "a", "limit": 0})).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Value);
        insta::assert_json_snapshot!(failure.error);
    }

    #[derive(Serialize, JsonSchema)]
    struct OwnError {
        error: String,
    }

    async fn own_error(_: &'static str, input: Input) -> Result<OwnError> {
        Ok(OwnError { error: input.query })
    }

    #[test]
    #[should_panic(expected = "output of `echo`: the reply has an `error` of its own")]
    fn a_reply_with_an_error_of_its_own_needs_another_style() {
        let _ = Toolset::build("test", "").tool(ECHO, own_error).finish();
    }

    #[test]
    fn only_the_style_with_structured_failures_loosens_the_reply() {
        let build = |errors| Toolset::build("test", "").errors(errors).tool(ECHO, echo).finish();
        for errors in [ErrorStyle::JsonRpc, ErrorStyle::TextResult] {
            assert_eq!(build(errors).tools()[0].output["required"], json!(["query", "limit"]));
        }
        let loosened = build(ErrorStyle::ToolResult);
        assert!(!loosened.tools()[0].output.contains_key("required"));
        assert_eq!(loosened.tools()[0].output["properties"]["error"]["type"], "object");
    }

    #[tokio::test]
    async fn a_contract_can_ignore_unknown_arguments_and_name_its_own_codes() {
        let toolset = Toolset::build("test", "")
            .unknown_arguments(UnknownArguments::Ignore)
            .argument_codes(&[("limit", ErrorCode::InvalidLimit)], ErrorCode::InvalidParameter)
            .tool(ECHO, echo)
            .finish();
        assert!(call(&toolset, json!({"query": "a", "other": 1})).await.is_ok());

        let failure = call(&toolset, json!({"query": "a", "limit": 99})).await.unwrap_err();
        assert_eq!((failure.error.code, failure.rpc_code()), (ErrorCode::InvalidLimit, -32000));
        let failure = call(&toolset, json!({"query": "a", "limit": "9"})).await.unwrap_err();
        assert_eq!((failure.error.code, failure.rpc_code()), (ErrorCode::InvalidLimit, -32602));
        let failure = call(&toolset, json!({"query": ""})).await.unwrap_err();
        assert_eq!((failure.error.code, failure.rpc_code()), (ErrorCode::InvalidParameter, -32000));
        let failure = call(&toolset, json!({"query": "fail"})).await.unwrap_err();
        assert_eq!((failure.error.code, failure.rpc_code()), (ErrorCode::NoteNotFound, -32004));
    }
}
