//! Keys for servers beyond loopback: when one is needed, and how one is made.

use ibid_api::{Error, ErrorCode, Result};
use serde_json::json;

use super::{Config, Secret, edit, keys};
use crate::http::{auth, is_loopback};

/// How the key of a server came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerKey {
    /// Loopback without a key: open.
    NotNeeded,
    /// From the configuration.
    Configured(Secret),
    /// Made now and stored in the user file.
    Generated(Secret),
}

impl ServerKey {
    /// The key that requests must carry.
    pub fn secret(&self) -> Option<&str> {
        match self {
            Self::NotNeeded => None,
            Self::Configured(secret) | Self::Generated(secret) => secret.reveal(),
        }
    }
}

impl Config {
    /// The key a server has to ask for; makes and stores one when it listens beyond loopback without.
    pub fn server_key(&self) -> Result<ServerKey> {
        let server = &self.values.server;
        match server.api_key.reveal() {
            Some(key) => {
                auth::check_binding(&server.host, Some(key), false)?;
                return Ok(ServerKey::Configured(server.api_key.clone()));
            }
            None if is_loopback(&server.host) => return Ok(ServerKey::NotNeeded),
            None => {}
        }
        let user_file = self.surroundings.user_file().filter(|_| self.custom_file.is_none());
        let Some(user_file) = user_file else {
            return Err(Error::new(
                ErrorCode::ApiKeyRequired,
                "listening beyond loopback needs `server.api_key`",
            )
            .with_hint("set `IBID_SERVER_API_KEY`, or put the key into the file given with `--config`"));
        };
        let key = auth::generate_key().map_err(|_| {
            Error::new(ErrorCode::ApiKeyRequired, "the system gave no random bytes to make a key from")
        })?;
        let table = keys::find("server.api_key").expect("the key stands in the table");
        edit::set(&user_file, table, &json!(key))?;
        Ok(ServerKey::Generated(Secret::new(key)))
    }
}
