//! Implements the operator `in_network`: reads IPv4 and IPv6 addresses and networks, such as
//! `10.0.0.0/8`, `2001:db8::/32`, or a single address. White space around them is ignored.

mod set;

pub use set::NetworkSet;

use ipnet::IpNet;
use std::net::IpAddr;

/// Parses a network; `None` if the text is no network. A single address is a network of one
/// address.
pub fn parse_network(text: &str) -> Option<IpNet> {
    match text.contains('/') {
        true => text.trim().parse().ok(),
        false => parse_address(text).map(IpNet::from),
    }
}

/// True if the text is an IPv4 or IPv6 address.
pub fn is_address(text: &str) -> bool {
    parse_address(text).is_some()
}

fn parse_address(text: &str) -> Option<IpAddr> {
    text.trim().parse().ok()
}

/// Reports whether an address lies in a network; `None` if either text is invalid. An IPv4 address
/// in IPv6 form, such as `::ffff:10.0.0.1`, also matches as an IPv4 address. Servers that accept
/// both IPv4 and IPv6 see addresses in this form.
pub fn is_in_network(address: &str, network: &str) -> Option<bool> {
    let (address, network) = (parse_address(address)?, parse_network(network)?);
    Some(network.contains(&address) || network.contains(&address.to_canonical()))
}

/// Returns the addresses at the edges of a network: its first two, its last, and the address after
/// its last. For an IPv4 network, also returns these addresses in their IPv6 form, and the first
/// IPv6 address after all such forms. `None` if the text is not a network.
///
/// The analysis of rules tries only the edges of all networks in the rules, and `0.0.0.0` and `::`.
/// Any other address is in the same networks as the greatest tried address below it.
pub fn edge_addresses(network: &str) -> Option<Vec<IpAddr>> {
    let network = parse_network(network)?;
    let (first, last) = (network.network(), network.broadcast());
    let second = next_address(first).filter(|second| network.contains(second));
    let edges = [second, Some(first), Some(last), next_address(last)];
    let mut edges: Vec<IpAddr> = edges.into_iter().flatten().collect();
    // An IPv4 address in IPv6 form lies in the same IPv4 networks, and may also lie in IPv6
    // networks.
    let mapped = edges.iter().filter_map(|edge| match edge {
        IpAddr::V4(edge) => Some(IpAddr::from(edge.to_ipv6_mapped())),
        IpAddr::V6(_) => None,
    });
    let mapped: Vec<IpAddr> = mapped.collect();
    if let (IpAddr::V4(_), Some(end)) = (first, next_address(LAST_IPV4_MAPPED_ADDRESS.into())) {
        edges.extend(mapped.into_iter().chain([end]));
    }
    Some(edges)
}

/// The last IPv4 address, 255.255.255.255, written as an IPv6 address.
const LAST_IPV4_MAPPED_ADDRESS: std::net::Ipv6Addr = std::net::Ipv4Addr::BROADCAST.to_ipv6_mapped();

fn next_address(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => u32::from(address).checked_add(1).map(|next| IpAddr::V4(next.into())),
        IpAddr::V6(address) => u128::from(address).checked_add(1).map(|next| IpAddr::V6(next.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_a_network_are_inside_and_after_it() {
        let edges = |network: &str| -> Vec<String> {
            let edges = edge_addresses(network).expect("a network");
            edges.iter().map(ToString::to_string).collect()
        };
        let of_eight = edges("10.9.9.9/8");
        for edge in ["10.0.0.1", "10.0.0.0", "11.0.0.0", "10.255.255.255", "::ffff:10.0.0.0", "::1:0:0:0"] {
            assert!(of_eight.iter().any(|other| other == edge), "{edge} in {of_eight:?}");
        }
        assert_eq!(edges("2001:db8::1"), ["2001:db8::1", "2001:db8::1", "2001:db8::2"]);
        assert!(edges("0.0.0.0/0").contains(&"255.255.255.255".to_owned()));
        assert_eq!(edge_addresses("10/8"), None);
    }

    #[test]
    fn addresses_lie_in_networks() {
        let check = |address: &str, network: &str, expected: Option<bool>| {
            assert_eq!(is_in_network(address, network), expected, "{address} in {network}");
        };
        check("10.1.2.3", "10.0.0.0/8", Some(true));
        check("11.1.2.3", "10.0.0.0/8", Some(false));
        check("10.1.2.3", "10.9.9.9/8", Some(true));
        check("127.0.0.1", "127.0.0.1", Some(true));
        check("127.0.0.2", "127.0.0.1", Some(false));
        check("1.2.3.4", "0.0.0.0/0", Some(true));
        check("2001:db8:0:1::42", "2001:db8::/32", Some(true));
        check("2001:db9::1", "2001:db8::/32", Some(false));
        check("2001:db8::1", "2001:db8::1", Some(true));
        check("::ffff:10.0.0.1", "10.0.0.0/8", Some(true));
        check("::ffff:10.0.0.1", "::ffff:0:0/96", Some(true));
        check("10.0.0.1", "::/0", Some(false));
        check("::1", "0.0.0.0/0", Some(false));
        check(" 10.0.0.1", "10.0.0.0/8\n", Some(true));
        for none in
            ["", "10.0.0", "10.0.0.256", "010.0.0.1", "localhost", "10.0.0.1:80", "[::1]", "10.0. 0.1"]
        {
            check(none, "10.0.0.0/8", None);
        }
        for none in ["", "10.0.0.0/33", "10.0.0.0/", "10/8", "127.invalid", "bad::cidr", "10.0.0.0/08x"] {
            check("10.0.0.1", none, None);
        }
    }
}
