//! JSON-RPC over a pair of byte streams: every message is answered, and the end of input is reported to rmcp
//! only when every accepted request has its answer.
//!
//! rmcp by itself stops delivering notifications at the end of input and gives answers five seconds.

use std::{
    collections::{HashMap, VecDeque},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, JsonRpcError, JsonRpcMessage, ProtocolVersion, RequestId,
        ServerJsonRpcMessage, ServerResult,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Serialize;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{Mutex as AsyncMutex, Notify},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    answer,
    frame::{Frame, Frames, MAX_FRAME},
    message::{self, Parsed, Refused},
};

pub(super) struct LineTransport<R, W> {
    frames: Frames<R>,
    outlet: Outlet<W>,
    /// Ends reading before the input does.
    stop: CancellationToken,
    drain: Duration,
    drain_until: Option<Instant>,
    /// Messages of a batch that are still to be handed on.
    waiting: VecDeque<ClientJsonRpcMessage>,
}

/// The writing half, shared with the answers under way.
struct Outlet<W> {
    writer: Arc<AsyncMutex<W>>,
    pending: Arc<Pending>,
}

impl<W> Clone for Outlet<W> {
    fn clone(&self) -> Self {
        Self { writer: self.writer.clone(), pending: self.pending.clone() }
    }
}

/// What is still to be answered.
#[derive(Default)]
struct Pending {
    state: Mutex<PendingState>,
    changed: Notify,
}

#[derive(Default)]
struct PendingState {
    /// Accepted requests, with the batch each belongs to.
    requests: HashMap<RequestId, Option<Arc<Mutex<Batch>>>>,
    /// Writes that belong to no accepted request.
    writes: usize,
    agreed: Option<ProtocolVersion>,
}

/// Answers that leave together.
struct Batch {
    missing: usize,
    answers: Vec<Value>,
}

impl Pending {
    fn state(&self) -> MutexGuard<'_, PendingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_empty(&self) -> bool {
        let state = self.state();
        state.requests.is_empty() && state.writes == 0
    }

    fn update(&self, change: impl FnOnce(&mut PendingState)) {
        change(&mut self.state());
        self.changed.notify_one();
    }
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    pub(super) fn new(reader: R, writer: W, stop: CancellationToken, drain: Duration) -> Self {
        Self {
            frames: Frames::new(reader, MAX_FRAME),
            outlet: Outlet { writer: Arc::new(AsyncMutex::new(writer)), pending: Arc::default() },
            stop,
            drain,
            drain_until: None,
            waiting: VecDeque::new(),
        }
    }

    /// Notes what has to be answered. `None` means the message was dealt with here.
    fn accept(
        &self,
        message: ClientJsonRpcMessage,
        batch: Option<&Arc<Mutex<Batch>>>,
    ) -> Option<ClientJsonRpcMessage> {
        match &message {
            JsonRpcMessage::Request(request) => {
                let mut state = self.outlet.pending.state();
                if state.requests.contains_key(&request.id) {
                    drop(state);
                    let error = ErrorData::invalid_request("a request with this id is still running", None);
                    self.refuse(Some(request.id.clone()), error);
                    return None;
                }
                state.requests.insert(request.id.clone(), batch.cloned());
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                    && let Some(answers) = self.outlet.forget(id)
                {
                    self.write_later(answers);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Some(message)
    }

    /// Answers a message that never became a request.
    fn refuse(&self, id: Option<RequestId>, error: ErrorData) {
        self.write_later(ServerJsonRpcMessage::error(error, id));
    }

    /// Writes from a task of its own, because `receive` may be dropped at any await and half a line must not
    /// be.
    fn write_later(&self, answer: impl Serialize + Send + Sync + 'static) {
        let outlet = self.outlet.clone();
        outlet.pending.update(|state| state.writes += 1);
        tokio::spawn(async move {
            let written = outlet.write(&answer).await;
            outlet.pending.update(|state| state.writes -= 1);
            if written.is_err() {
                tracing::debug!("the client is gone");
            }
        });
    }

    fn take(&mut self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        match message::parse(line) {
            Ok(Parsed::One(message)) => self.accept(*message, None),
            Ok(Parsed::Batch(messages)) => {
                self.take_batch(messages);
                self.waiting.pop_front()
            }
            Err(Refused { id, error }) => {
                if let Some(error) = error {
                    self.refuse(id, error);
                }
                None
            }
        }
    }

    fn take_batch(&mut self, messages: Vec<Value>) {
        let agreed = self.outlet.pending.state().agreed.clone();
        if !agreed.is_some_and(|version| version <= ProtocolVersion::V_2025_03_26) {
            self.refuse(None, message::batch_refused());
            return;
        }
        let batch = Arc::new(Mutex::new(Batch { missing: 0, answers: Vec::new() }));
        let mut accepted = Vec::new();
        let mut refused = Vec::new();
        for message in messages {
            match message::from_value(message) {
                Ok(message) => accepted.extend(self.accept(message, Some(&batch))),
                Err(Refused { id, error }) => refused
                    .extend(error.and_then(|error| serde_json::to_value(JsonRpcError::new(id, error)).ok())),
            }
        }
        let missing = accepted.iter().filter(|message| matches!(message, JsonRpcMessage::Request(_))).count();
        if missing > 0 {
            *lock(&batch) = Batch { missing, answers: refused };
        } else if !refused.is_empty() {
            self.write_later(refused);
        }
        self.waiting.extend(accepted);
    }
}

fn lock(batch: &Mutex<Batch>) -> MutexGuard<'_, Batch> {
    batch.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    async fn write(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut writer = self.writer.lock().await;
        writer.write_all(&line).await?;
        writer.flush().await
    }

    /// Writes an answer, at once or with the rest of its batch.
    async fn answer(&self, id: &RequestId, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let batch = self.pending.state().requests.get(id).cloned().flatten();
        let Some(batch) = batch else { return self.write(message).await };
        let answer = serde_json::to_value(message)?;
        let complete = {
            let mut batch = lock(&batch);
            batch.answers.push(answer);
            batch.missing = batch.missing.saturating_sub(1);
            (batch.missing == 0).then(|| std::mem::take(&mut batch.answers))
        };
        match complete {
            Some(answers) => self.write(&answers).await,
            None => Ok(()),
        }
    }
}

impl<W> Outlet<W> {
    /// Nothing will be sent for this request any more. Returns the answers of its batch if they waited only
    /// for this one.
    fn forget(&self, id: &RequestId) -> Option<Vec<Value>> {
        let mut released = None;
        self.pending.update(|state| {
            if let Some(Some(batch)) = state.requests.remove(id) {
                let mut batch = lock(&batch);
                batch.missing = batch.missing.saturating_sub(1);
                if batch.missing == 0 && !batch.answers.is_empty() {
                    released = Some(std::mem::take(&mut batch.answers));
                }
            }
        });
        released
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outlet = self.outlet.clone();
        async move {
            let id = match &mut item {
                JsonRpcMessage::Response(response) => {
                    if let ServerResult::InitializeResult(result) = &response.result {
                        outlet.pending.state().agreed = Some(result.protocol_version.clone());
                    }
                    Some(response.id.clone())
                }
                JsonRpcMessage::Error(error) => {
                    answer::restore_code(&mut error.error);
                    error.id.clone()
                }
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            let Some(id) = id else { return outlet.write(&item).await };
            let written = outlet.answer(&id, &item).await;
            outlet.pending.update(|state| {
                state.requests.remove(&id);
            });
            written
        }
    }

    // Polled inside `select!`: whatever has to survive being dropped lives in `self`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while self.drain_until.is_none() {
            if let Some(message) = self.waiting.pop_front() {
                return Some(message);
            }
            let frame = tokio::select! {
                biased;
                () = self.stop.cancelled() => Frame::End,
                frame = self.frames.next() => frame,
            };
            match frame {
                Frame::Line(line) => {
                    if let Some(message) = self.take(&line) {
                        return Some(message);
                    }
                }
                Frame::Oversized(id) => {
                    let message = format!("the message is longer than {MAX_FRAME} bytes");
                    self.refuse(id, ErrorData::invalid_request(message, None));
                }
                Frame::End => self.drain_until = Some(Instant::now() + self.drain),
            }
        }
        let deadline = self.drain_until?;
        while !self.outlet.pending.is_empty() {
            let changed = self.outlet.pending.changed.notified();
            if tokio::time::timeout_at(deadline, changed).await.is_err() {
                tracing::warn!("some calls were not answered before the deadline");
                break;
            }
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outlet.writer.lock().await.shutdown().await
    }
}
