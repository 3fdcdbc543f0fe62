//! Which embedding endpoints may be spoken to: those on this machine, and on the private network if allowed.
//!
//! Texts of a knowledge base go to the endpoint, so a public one is refused whatever the configuration says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::{
    http::Uri,
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::NextTimeout,
    },
};

use super::EmbedError;

/// Endings of names that belong to private networks.
const PRIVATE_ENDINGS: [&str; 3] = [".internal", ".local", ".home.arpa"];

/// Whether this endpoint may be used.
pub fn endpoint_allowed(url: &str, allow_private: bool) -> Result<(), EmbedError> {
    parse(url, allow_private).map(|_| ())
}

/// The endpoint as the client will read it, if it may be used.
pub(super) fn parse(url: &str, allow_private: bool) -> Result<Uri, EmbedError> {
    let refuse = |why: &str| Err(EmbedError::Config(format!("the embedding endpoint cannot be used: {why}")));
    let Ok(uri) = url.parse::<Uri>() else {
        return refuse("it is not a URL");
    };
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return refuse("it must begin with http:// or https://");
    }
    let Some(authority) = uri.authority() else {
        return refuse("it names no host");
    };
    if authority.as_str().contains('@') {
        return refuse("it must not hold a user name; pass the key on its own");
    }
    let host = authority.host().to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let (loopback, private) = match address {
        Ok(address) => (is_loopback(address), is_private(address)),
        Err(_) if is_numeric(&host) => return refuse("write the address as four decimal numbers"),
        Err(_) => (host == "localhost", is_private_name(&host)),
    };
    match () {
        () if loopback || private && allow_private => Ok(uri),
        () if private => refuse("it is on the private network; allow private network endpoints to use it"),
        () => refuse("it is neither on this machine nor on the private network"),
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

/// Resolvers read `2130706433`, `0x7f000001` and `127.1` as addresses; a name ends in a label with letters.
fn is_numeric(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    last.chars().all(|c| c.is_ascii_digit()) || last.starts_with("0x")
}

fn is_private_name(host: &str) -> bool {
    let ending = PRIVATE_ENDINGS.iter().any(|ending| host.len() > ending.len() && host.ends_with(ending));
    !host.is_empty() && (!host.contains('.') || ending)
}

/// Resolves names and drops what they must not lead to: a private name can be made to point anywhere.
#[derive(Debug)]
pub(super) struct PrivateResolver {
    pub(super) allow_private: bool,
    pub(super) inner: DefaultResolver,
}

impl PrivateResolver {
    fn permits(&self, address: IpAddr) -> bool {
        // Besides the private ranges, what only a neighbour can have: container and overlay networks use it.
        let near = match address.to_canonical() {
            IpAddr::V4(address) => address.is_link_local() || is_shared(address),
            IpAddr::V6(address) => is_link_local(address),
        };
        is_loopback(address) || self.allow_private && (is_private(address) || near)
    }
}

fn is_shared(address: Ipv4Addr) -> bool {
    address.octets()[0] == 100 && address.octets()[1] & 0xC0 == 64
}

fn is_link_local(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xFFC0 == 0xFE80
}

impl Resolver for PrivateResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        let mut kept = self.empty();
        found.iter().filter(|address| self.permits(address.ip())).for_each(|address| kept.push(*address));
        if kept.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(kept) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_on_this_machine_are_always_allowed() {
        for url in [
            "http://127.0.0.1:11434/v1/embeddings",
            "http://localhost:8080/v1/embeddings",
            "http://LOCALHOST/v1/embeddings",
            "https://[::1]:8443/v1/embeddings",
            "http://127.8.9.10/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            assert!(endpoint_allowed(url, false).is_ok(), "{url}");
        }
    }

    #[test]
    fn endpoints_on_the_private_network_need_the_option() {
        for url in [
            "http://host.docker.internal:11434/",
            "http://embedder:8080/",
            "http://box.local/",
            "http://gpu.home.arpa/",
            "http://10.1.2.3/",
            "http://172.16.0.9/",
            "http://192.168.1.4:1234/",
            "http://[fd12:3456::1]/",
        ] {
            assert!(endpoint_allowed(url, false).is_err(), "{url}");
            assert!(endpoint_allowed(url, true).is_ok(), "{url}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for url in [
            "https://api.example.com/v1/embeddings",
            "http://8.8.8.8/",
            "http://172.32.0.1/",
            "http://0.0.0.0/",
            "http://[2001:db8::1]/",
            "http://[::ffff:8.8.8.8]/",
            "http://134744072/",
            "http://0x08080808/",
            "http://8.8.2056/",
            "http://0x7f.1/",
            "http://127.0.0.1@example.com/",
            "http://user:secret@127.0.0.1/",
            "http://localhost.example.com/",
            "http://example.com./",
            "http://internal.example.com/",
            "http://.local/",
            "ftp://127.0.0.1/",
            "file:///etc/passwd",
            "127.0.0.1:80",
            "",
            "http://",
            "/v1/embeddings",
        ] {
            for allow_private in [false, true] {
                assert!(endpoint_allowed(url, allow_private).is_err(), "{url}");
            }
        }
    }

    #[test]
    fn a_name_that_leads_to_a_public_address_is_not_followed() {
        let check = |allow_private: bool, address: &str, expected: bool| {
            let resolver = PrivateResolver { allow_private, inner: DefaultResolver::default() };
            assert_eq!(resolver.permits(address.parse().unwrap()), expected, "{address}");
        };
        for (address, near) in
            [("10.0.0.1", true), ("100.64.0.1", true), ("fe80::1", true), ("1.1.1.1", false)]
        {
            check(false, address, false);
            check(true, address, near);
        }
        check(false, "127.0.0.1", true);
    }
}
