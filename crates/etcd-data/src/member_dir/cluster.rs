//! The cluster that a restored member shall belong to: who is in it, and the ids that etcd derives from that.
//!
//! member id  = first 8 bytes BE of sha1(sorted peer URLs, joined without a separator | token)
//! cluster id = first 8 bytes BE of sha1(member ids as u64 BE, ascending)

use std::net::Ipv6Addr;

use sha1::{Digest, Sha1};

use crate::error::{Error, Result};
use crate::member_dir::json;

/// Most members that one restore writes; etcd itself advises seven.
pub const MAX_MEMBERS: usize = 100;

/// What the user says: `--name`, `--initial-cluster`, `--initial-cluster-token`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSpec {
    /// Name of the member that the directory is for; one of `initial_cluster`.
    pub name: String,
    /// Every member's name and peer URLs, in any order.
    pub initial_cluster: Vec<(String, Vec<String>)>,
    /// `etcd-cluster` unless set.
    pub token: String,
}

/// One member, with its derived id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Derived from the peer URLs and the token.
    pub id: u64,
    /// `--name` of that member.
    pub name: String,
    /// Sorted.
    pub peer_urls: Vec<String>,
}

/// A checked [`ClusterSpec`]: ids derived, members ascending by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Derived from the members' ids.
    pub id: u64,
    /// The member that the directory is for.
    pub local_id: u64,
    /// At least one, ascending by id.
    pub members: Vec<Member>,
}

impl ClusterSpec {
    /// One member on its own, as for a replay or a single-member restore.
    #[must_use]
    pub fn single(name: &str, peer_url: &str, token: &str) -> Self {
        ClusterSpec {
            name: name.to_owned(),
            initial_cluster: vec![(name.to_owned(), vec![peer_url.to_owned()])],
            token: token.to_owned(),
        }
    }

    /// Reads the value of `--initial-cluster`: `name=url,name=url,…`; a name that occurs again adds a URL. Empty items are
    /// skipped, as etcd does; blanks around names and URLs too, which etcd would take into the name.
    pub fn parse(name: &str, initial_cluster: &str, token: &str) -> Result<Self> {
        let mut members: Vec<(String, Vec<String>)> = Vec::new();
        let items = initial_cluster.split(',').map(str::trim);
        for item in items.filter(|item| !item.is_empty()) {
            let (member, url) = item
                .split_once('=')
                .map(|(member, url)| (member.trim(), url.trim()))
                .ok_or_else(|| {
                    usage(format!(
                        "initial-cluster: \"{item}\" is not of the form name=url"
                    ))
                })?;
            match members.iter_mut().find(|(known, _)| known == member) {
                Some((_, urls)) => urls.push(url.to_owned()),
                None => members.push((member.to_owned(), vec![url.to_owned()])),
            }
        }
        Ok(ClusterSpec {
            name: name.to_owned(),
            initial_cluster: members,
            token: token.to_owned(),
        })
    }

    /// Checks the specification as etcd's restore does and derives the ids.
    pub fn resolve(&self) -> Result<Cluster> {
        if self.initial_cluster.is_empty() || self.initial_cluster.len() > MAX_MEMBERS {
            return Err(usage(format!(
                "initial-cluster: give 1 to {MAX_MEMBERS} members"
            )));
        }
        let mut members = Vec::new();
        for (name, urls) in &self.initial_cluster {
            members.push(resolve_member(name, urls, &self.token)?);
        }
        refuse_shared_urls(&members)?;
        members.sort_by_key(|member| member.id);
        if members
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.id == b.id))
        {
            return Err(usage("initial-cluster: two members get the same id".into()));
        }
        let local = members
            .iter()
            .find(|member| member.name == self.name)
            .ok_or_else(|| {
                usage(format!(
                    "name: member \"{}\" is not in initial-cluster; add it there",
                    self.name
                ))
            })?;
        let local_id = local.id;
        Ok(Cluster {
            id: cluster_id(&members),
            local_id,
            members,
        })
    }
}

impl Cluster {
    /// Number of members, as the raft index of their last conf change.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.members.len() as u64
    }
}

impl Member {
    /// Key in the `members` bucket and directory in the v2 store: hex without padding.
    #[must_use]
    pub fn hex_id(&self) -> String {
        format!("{:x}", self.id)
    }

    /// `{"id":…,"peerURLs":[…],"name":"…"}`: conf change context and record of the `members` bucket.
    #[must_use]
    pub fn to_json(&self) -> String {
        let urls = json::string_array(&self.peer_urls);
        let mut text = format!("{{\"id\":{},\"peerURLs\":{urls}", self.id);
        if !self.name.is_empty() {
            text.push_str(",\"name\":");
            json::push_string(&mut text, &self.name);
        }
        text.push('}');
        text
    }
}

fn resolve_member(name: &str, urls: &[String], token: &str) -> Result<Member> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(usage(format!(
            "initial-cluster: {name:?} is not a usable member name"
        )));
    }
    let mut peer_urls = Vec::new();
    for url in urls {
        peer_urls.push(check_peer_url(url)?);
    }
    peer_urls.sort_unstable();
    if peer_urls.is_empty() {
        return Err(usage(format!(
            "initial-cluster: member \"{name}\" has no peer URL"
        )));
    }
    let mut sha = Sha1::new();
    peer_urls.iter().for_each(|url| sha.update(url));
    sha.update(token);
    let id = leading_u64(&sha.finalize());
    if id == 0 {
        return Err(usage(format!(
            "initial-cluster: member \"{name}\" gets id 0; change the token"
        )));
    }
    Ok(Member {
        id,
        name: name.to_owned(),
        peer_urls,
    })
}

/// etcd's rule for peer URLs. Anything that Go's URL type would spell differently is refused, since the
/// spelling goes into the member id.
fn check_peer_url(url: &str) -> Result<String> {
    let url = url.trim();
    let wrong = |what: &str| Err(usage(format!("peer URL \"{url}\": {what}")));
    let Some((scheme, rest)) = url.split_once("://") else {
        return wrong("give scheme://host:port");
    };
    let plain = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}%?#@".contains(c);
    if !rest.chars().all(plain) {
        return wrong("contains characters that do not belong in a host");
    }
    match scheme {
        "unix" | "unixs" if rest.is_empty() => wrong("has no socket"),
        "unix" | "unixs" => Ok(url.to_owned()),
        "http" | "https" => match wrong_host(rest) {
            Some(what) => wrong(what),
            None => Ok(url.to_owned()),
        },
        _ => wrong("scheme must be http, https, unix or unixs"),
    }
}

fn wrong_host(host_and_port: &str) -> Option<&'static str> {
    if host_and_port.contains('/') {
        return Some("must not contain a path");
    }
    let host_only = host_and_port.ends_with(']');
    let Some((host, port)) = host_and_port.rsplit_once(':').filter(|_| !host_only) else {
        return Some("must end in host:port");
    };
    let is_port = port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok();
    let bracketed = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    match bracketed {
        Some(address) if address.parse::<Ipv6Addr>().is_err() => {
            Some("what is in brackets is no IPv6 address")
        }
        None if host.contains(':') => Some("put an IPv6 address in brackets: http://[::1]:2380"),
        None if host.contains(['[', ']']) => Some("brackets are for a whole IPv6 address"),
        _ => (!is_port).then_some("must end in host:port"),
    }
}

fn refuse_shared_urls(members: &[Member]) -> Result<()> {
    let mut urls: Vec<&String> = members
        .iter()
        .flat_map(|member| &member.peer_urls)
        .collect();
    urls.sort_unstable();
    match urls
        .windows(2)
        .find(|pair| matches!(pair, [a, b] if a == b))
    {
        Some([url, _]) => Err(usage(format!(
            "initial-cluster: peer URL {url} is given twice"
        ))),
        _ => Ok(()),
    }
}

fn cluster_id(members: &[Member]) -> u64 {
    let mut sha = Sha1::new();
    members
        .iter()
        .for_each(|member| sha.update(member.id.to_be_bytes()));
    leading_u64(&sha.finalize())
}

fn leading_u64(digest: &[u8]) -> u64 {
    digest
        .first_chunk::<8>()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

fn usage(what: String) -> Error {
    Error::Usage { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_that_etcd_derived() {
        let spec = ClusterSpec::single("default", "http://127.0.0.1:25791", "etcd-cluster");
        let cluster = spec.resolve().unwrap();
        assert_eq!(cluster.local_id, 16501227635492466604);
        assert_eq!(cluster.id, 9928200521393742756);
        assert_eq!(
            cluster.members[0].to_json(),
            r#"{"id":16501227635492466604,"peerURLs":["http://127.0.0.1:25791"],"name":"default"}"#
        );
    }

    #[test]
    fn a_specification_that_etcd_would_refuse_is_refused() {
        let resolve = |name: &str, cluster: &str| {
            ClusterSpec::parse(name, cluster, "t")
                .and_then(|spec| spec.resolve())
                .map_err(|e| e.to_string())
        };
        assert!(resolve("m1", "m1=http://a:1,m2=http://b:1").is_ok());
        assert!(
            resolve("m3", "m1=http://a:1,m2=http://b:1")
                .unwrap_err()
                .contains("\"m3\" is not in initial-cluster")
        );
        assert!(
            resolve("m1", "m1=http://a:1,m2=http://a:1")
                .unwrap_err()
                .contains("given twice")
        );
        assert!(
            resolve("m1", "m1=ftp://a:1")
                .unwrap_err()
                .contains("scheme must be")
        );
        assert!(
            resolve("m1", "m1=http://a:1/x")
                .unwrap_err()
                .contains("must not contain a path")
        );
        assert!(
            resolve("m1", "m1=http://a")
                .unwrap_err()
                .contains("host:port")
        );
        assert!(resolve("m1", "m1").unwrap_err().contains("name=url"));
        assert!(resolve("m1", " ,").unwrap_err().contains("1 to 100"));
        assert!(
            resolve("m1", "m1=http://a:1,m1=http://a:1")
                .unwrap_err()
                .contains("given twice")
        );
        assert!(
            resolve("m1", "=http://a:1")
                .unwrap_err()
                .contains("not a usable member name")
        );
        for (url, why) in [
            ("http://::1:2380", "in brackets"),
            ("http://fe80::1:2380", "in brackets"),
            ("http://[::1]", "host:port"),
            ("http://[::g]:1", "no IPv6 address"),
            ("http://a[b]:1", "whole IPv6 address"),
            ("http://a:+1", "host:port"),
            ("http://a:65536", "host:port"),
            ("http://a:", "host:port"),
            ("http://", "host:port"),
            ("unix://", "no socket"),
            ("http://ä:1", "do not belong"),
            ("http://a b:1", "do not belong"),
        ] {
            let found = resolve("m1", &format!("m1={url}")).unwrap_err();
            assert!(found.contains(why) && found.contains(url), "{url}: {found}");
        }
    }

    #[test]
    fn what_etcd_takes_is_taken() {
        for cluster in [
            "m1=http://[::1]:2380",
            "m1=https://[2001:db8::7]:2380,m2=https://[2001:db8::8]:2380",
            "m1=unix://m1.sock:1",
            "m1=unixs:///run/etcd/m1.sock",
            "m1=https://etcd-0.etcd.kube-system.svc:2380",
            " m1 = http://a:1 ,, m2=http://b:1, ",
        ] {
            let resolved = ClusterSpec::parse("m1", cluster, "t").and_then(|spec| spec.resolve());
            assert!(resolved.is_ok(), "{cluster}: {resolved:?}");
            assert!(
                resolved
                    .unwrap()
                    .members
                    .iter()
                    .all(|m| m.name.trim() == m.name)
            );
        }
    }

    #[test]
    fn urls_are_sorted_before_they_are_hashed() {
        let one = ClusterSpec::parse("a", "a=http://x:2,a=http://x:1", "t")
            .unwrap()
            .resolve()
            .unwrap();
        let two = ClusterSpec::parse("a", "a=http://x:1,a=http://x:2", "t")
            .unwrap()
            .resolve()
            .unwrap();
        assert_eq!(one, two);
        assert_eq!(one.members[0].peer_urls, ["http://x:1", "http://x:2"]);
    }
}
