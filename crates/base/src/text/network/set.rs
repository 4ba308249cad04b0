//! A set of IP networks. An address is looked up in the set, so that it need not be compared with
//! each network.

use super::{parse_address, parse_network};
use hashbrown::HashMap;
use ipnet::IpNet;
use std::net::IpAddr;

/// A set of IP networks, grouped by prefix length. To find the networks that contain an address, it
/// makes one hash lookup for each prefix length.
#[derive(Debug, Default)]
pub struct NetworkSet {
    ipv4_prefixes: PrefixMap,
    ipv6_prefixes: PrefixMap,
    network_count: u32,
}

/// Pairs of a prefix length in bits, and a map. The map contains the prefixes of this length, each
/// with the number of networks that have the prefix.
type PrefixMap = Vec<(u32, HashMap<u128, u32, foldhash::fast::FixedState>)>;

impl NetworkSet {
    /// Creates a set of the IP networks that the texts name. `None` if one of the texts is missing
    /// or is not a network.
    pub fn new<'t>(texts: impl Iterator<Item = Option<&'t str>>) -> Option<NetworkSet> {
        let mut set = NetworkSet::default();
        for text in texts {
            let (map, bits, width, length) = match parse_network(text?)? {
                IpNet::V4(network) => {
                    (&mut set.ipv4_prefixes, u128::from(u32::from(network.addr())), 32, network.prefix_len())
                }
                IpNet::V6(network) => {
                    (&mut set.ipv6_prefixes, u128::from(network.addr()), 128, network.prefix_len())
                }
            };
            let length = u32::from(length);
            let at = map.iter().position(|(other, _)| *other == length).unwrap_or_else(|| {
                map.push((length, HashMap::default()));
                map.len() - 1
            });
            *map[at].1.entry(masked_prefix(bits, width, length)).or_insert(0) += 1;
            set.network_count += 1;
        }
        Some(set)
    }

    /// Returns the number of networks in the set.
    pub fn len(&self) -> u32 {
        self.network_count
    }

    /// True if the set has no network.
    pub fn is_empty(&self) -> bool {
        self.network_count == 0
    }

    /// Returns the number of networks that contain the address; `None` if the text is no address.
    /// White space around the address is ignored. An IPv4 address in IPv6 form is looked up both as
    /// IPv4 and as IPv6, as in [`super::is_in_network`].
    pub fn count_containing(&self, address: &str) -> Option<u32> {
        let address = parse_address(address)?;
        let canonical = address.to_canonical();
        let other = if canonical == address { 0 } else { self.count_in_ip_version(canonical) };
        Some(self.count_in_ip_version(address) + other)
    }

    fn count_in_ip_version(&self, address: IpAddr) -> u32 {
        let (map, bits, width) = match address {
            IpAddr::V4(address) => (&self.ipv4_prefixes, u128::from(u32::from(address)), 32),
            IpAddr::V6(address) => (&self.ipv6_prefixes, u128::from(address), 128),
        };
        let found =
            map.iter().filter_map(|(length, networks)| networks.get(&masked_prefix(bits, width, *length)));
        found.sum()
    }
}

/// Returns the first `length` bits of an address of `width` bits.
fn masked_prefix(bits: u128, width: u32, length: u32) -> u128 {
    bits.checked_shr(width - length).unwrap_or(0)
}
