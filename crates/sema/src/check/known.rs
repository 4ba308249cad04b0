//! Checks constant texts that must be valid: time zones, versions, networks, and names of hash
//! functions for `bucket`. An invalid text in a message makes a result missing or unknown; an
//! invalid constant is an error.

use super::{Checked, Checker};
use crate::hir::{Const, Expr};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_base::text::{self, BucketHash, network, version, zone};
use rulec_lang::builtins::Function;
use rulec_lang::ty::KindSet;
use rulec_lang::value::{Value, parse_datetime};

impl Checker<'_> {
    /// Checks an argument that must be a valid time zone, version, name of a hash function, number
    /// of buckets, date or time of day. An invalid constant is an error. Returns true if such an
    /// argument is not constant, because it may then be invalid at run time. Returns false for all
    /// other arguments.
    pub(super) fn check_argument_validity(
        &mut self,
        function: Function,
        param: &str,
        arg: &Expr,
    ) -> Checked<bool> {
        if (function, param) == (Function::Bucket, "of") {
            return self.check_bucket_count(arg);
        }
        let text = arg.as_const().and_then(|constant| constant.value().as_str());
        let (is_constant, span) = (text.is_some(), arg.span);
        let text = text.unwrap_or_default();
        match (function, param) {
            (_, "zone") => {
                self.program.time_zone_version = Some(zone::tzdata_version().into());
                if is_constant {
                    self.check_zone(text, span)?
                }
            }
            (Function::Bucket, "hash") if is_constant => self.check_hash_name(text, span)?,
            (Function::Version, _) if is_constant => drop(self.check_version(text, span)?),
            (Function::Date | Function::Time, _) if is_constant && parse_datetime(text).is_none() => {
                drop(self.check_clock_text(function, text, span)?)
            }
            _ => {}
        }
        Ok(may_be_invalid(function, param, arg))
    }

    pub(super) fn check_zone(&mut self, name: &str, span: Span) -> Checked<()> {
        if zone::is_zone_name(name) {
            return Ok(());
        }
        let normalized_name = name.replace(' ', "_");
        let is_city_name = |zone: &&str| {
            zone.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(&normalized_name))
        };
        let near = time_zone_of_offset(name)
            .or_else(|| time_zone_of_city(&normalized_name))
            .or_else(|| zone::zone_names().find(is_city_name))
            .or_else(|| time_zone_of_swapped_parts(&normalized_name))
            .or_else(|| self.nearest(name, zone::zone_names()));
        let finding = Diagnostic::new(Code::UnknownZone, span, message!("there is no time zone `{name}`"));
        self.report(match near {
            Some(near) => {
                finding.help(message!("did you mean \"{near}\"?")).likely_fix(span, format!("\"{near}\""))
            }
            None => finding.help(message!(
                "use a name of the IANA time zone database, such as \"Asia/Shanghai\" or \"UTC\"; \
                    eight hours ahead of UTC all year is \"Etc/GMT-8\""
            )),
        })
    }

    pub(super) fn check_version(&mut self, text: &str, span: Span) -> Checked<semver::Version> {
        match version::parse_version(text) {
            Some(version) => Ok(version),
            None => {
                let message = message!("`{}` is not a version", text::to_one_line(text));
                let help = match convert_version_range(text) {
                    Some(range) => message!("a range of versions is written as comparisons: `{range}`"),
                    None => message!("write up to three numbers, as in \"1.2.3\" or \"1.2.3-beta.1\""),
                };
                self.fail(Code::BadVersion, span, message, help)
            }
        }
    }

    pub(super) fn check_network(&mut self, text: &str, span: Span) -> Checked<()> {
        if network::parse_network(text).is_some() {
            return Ok(());
        }
        let message = message!("`{}` is not a network", text::to_one_line(text));
        let help = message!(
            "write an address with the length of its prefix, as in \"10.0.0.0/8\" or \"2001:db8::/32\", or \
            a single address"
        );
        self.fail(Code::BadNetwork, span, message, help)
    }

    /// Checks the number of buckets in a call of `bucket`; an invalid constant is an error. Returns
    /// true if the number is not constant, because it may then be invalid at run time.
    fn check_bucket_count(&mut self, count: &Expr) -> Checked<bool> {
        match count.as_const().map(Const::value) {
            None => Ok(true),
            Some(Value::Int(number)) if text::is_bucket_count(number) => Ok(false),
            Some(_) => {
                let help = message!("write a multiple of 100 up to a million, such as `of: 10_000`");
                let message = message!("keys cannot be divided into this number of buckets");
                self.fail(Code::NumberOutOfRange, count.span, message, help)
            }
        }
    }

    fn check_hash_name(&mut self, name: &str, span: Span) -> Checked<()> {
        if BucketHash::from_name(name).is_some() {
            return Ok(());
        }
        let names: Vec<String> =
            BucketHash::HASH_NAMES.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let near = self.nearest(name, BucketHash::HASH_NAMES.iter().map(|(name, _)| *name));
        let message = message!("there is no hash `{}`", text::to_one_line(name));
        let finding = Diagnostic::new(Code::UnknownHash, span, message);
        self.report(match near {
            Some(near) => {
                finding.help(message!("did you mean \"{near}\"?")).likely_fix(span, format!("\"{near}\""))
            }
            None => finding.help(message!("the hashes are {}", names.join(", "))),
        })
    }
}

/// Converts a version range in the notation of a package manager, such as `~> 1.2`, `^1.4`, `1.x`
/// or `>=1.2 <2`, to comparisons of a version `x`. `None` for any other text.
fn convert_version_range(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some((low, high)) = text.split_once(" - ") {
        let (low, high) = (parse_version_numbers(low)?, parse_version_numbers(high)?);
        return Some(format!("x >= \"{}\" and x <= \"{}\"", join_with_dots(&low), join_with_dots(&high)));
    }
    // `>= 1.2, < 2`: a sign may be followed by a space.
    let mut parts: Vec<String> = Vec::new();
    for part in text.split([' ', ',']).filter(|part| !part.is_empty()) {
        match parts.last_mut().filter(|last| last.ends_with(['<', '>', '=', '~', '^'])) {
            Some(sign) => sign.push_str(part),
            None => parts.push(part.to_owned()),
        }
    }
    let comparisons: Option<Vec<String>> = parts.iter().map(|part| comparisons_of_range_part(part)).collect();
    comparisons.filter(|all| !all.is_empty()).map(|all| all.join(" and "))
}

/// Converts one part of a version range, such as `>=1.2`, to comparisons of a version `x`. `None`
/// if the part has neither a sign nor a wildcard, or if its remaining text is not a version.
fn comparisons_of_range_part(part: &str) -> Option<String> {
    let version = part.trim_start_matches(['<', '>', '=', '~', '^']);
    let sign = &part[..part.len() - version.len()];
    let wildcard = version.find(['x', 'X', '*']);
    // `1.2.x.y` and `2.x-beta` have other parts after the wildcard.
    let is_wildcard = |part: &str| matches!(part, "x" | "X" | "*");
    if wildcard.is_some_and(|start| !version[start..].split('.').all(is_wildcard)) {
        return None;
    }
    let numbers = parse_version_numbers(version[..wildcard.unwrap_or(version.len())].trim_end_matches('.'))?;
    // The number that is increased for the first version after the range.
    let increased = match sign {
        "<" | "<=" | ">" | ">=" if wildcard.is_none() => {
            return Some(format!("x {sign} \"{}\"", join_with_dots(&numbers)));
        }
        "=" | "==" if wildcard.is_none() => return Some(format!("x == \"{}\"", join_with_dots(&numbers))),
        "" | "=" | "==" if wildcard.is_some() => numbers.len() - 1,
        "^" => numbers.iter().position(|number| *number > 0).unwrap_or(numbers.len() - 1),
        "~>" => numbers.len().saturating_sub(2),
        "~" => (numbers.len() - 1).min(1),
        _ => return None,
    };
    let mut end = numbers[..=increased].to_vec();
    end[increased] = end[increased].checked_add(1)?;
    Some(format!("x >= \"{}\" and x < \"{}\"", join_with_dots(&numbers), join_with_dots(&end)))
}

/// Parses a version of one to three numbers, such as `1.2` or `v1.2.3`. `None` for any other text,
/// such as a version with a suffix.
fn parse_version_numbers(text: &str) -> Option<Vec<u64>> {
    let numbers: Option<Vec<u64>> = text
        .trim()
        .trim_start_matches('v')
        .split('.')
        .map(|number| number.parse().ok().filter(|_| number.bytes().all(|byte| byte.is_ascii_digit())))
        .collect();
    numbers.filter(|numbers| (1..=3).contains(&numbers.len()))
}

fn join_with_dots(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

/// Returns the name in the time-zone database for an offset such as `GMT+1`, `UTC-8` or `+08:00`.
/// These names have the opposite sign: `Etc/GMT-1` is one hour ahead of UTC. `None` for other
/// texts, and for offsets that are not whole hours.
fn time_zone_of_offset(text: &str) -> Option<&'static str> {
    let upper = text.to_uppercase();
    let offset = upper.trim_start_matches("ETC/").trim_start_matches("GMT").trim_start_matches("UTC").trim();
    let hours = offset.strip_prefix(['+', '-'])?;
    let hours = hours.strip_suffix(":00").unwrap_or(hours);
    let hours = if hours.len() == 4 { hours.strip_suffix("00")? } else { hours };
    let hours: u8 = hours.parse().ok()?;
    let sign = if offset.starts_with('+') { '-' } else { '+' };
    let wanted = format!("Etc/GMT{sign}{hours}");
    zone::zone_names().find(|zone| *zone == wanted)
}

/// Returns the zone of a city that is written before its continent or country, as in
/// `Berlin/Europe`. `None` for other names.
fn time_zone_of_swapped_parts(name: &str) -> Option<&'static str> {
    let (city, _) = name.split_once('/')?;
    let is_city = |zone: &&str| zone.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(city));
    zone::zone_names().find(is_city).or_else(|| time_zone_of_city(city))
}

/// Returns the zone of a large city whose name is not in the database of time zones. `None` for
/// other names.
fn time_zone_of_city(name: &str) -> Option<&'static str> {
    let city = name.rsplit('/').next()?.to_lowercase().replace([' ', '-'], "_");
    Some(match city.as_str() {
        "beijing" | "peking" | "guangzhou" | "shenzhen" | "hangzhou" | "chengdu" | "nanjing" | "wuhan"
        | "北京" | "上海" | "china" => "Asia/Shanghai",
        "hongkong" | "hk" => "Asia/Hong_Kong",
        "delhi" | "new_delhi" | "mumbai" | "bombay" | "bangalore" | "bengaluru" | "chennai" | "hyderabad"
        | "india" => "Asia/Kolkata",
        "osaka" | "kyoto" | "japan" => "Asia/Tokyo",
        "busan" | "korea" => "Asia/Seoul",
        "hanoi" | "saigon" => "Asia/Ho_Chi_Minh",
        "abu_dhabi" => "Asia/Dubai",
        "washington" | "washington_dc" | "boston" | "miami" | "atlanta" | "philadelphia" | "nyc" => {
            "America/New_York"
        }
        "san_francisco" | "seattle" | "la" | "san_diego" | "las_vegas" => "America/Los_Angeles",
        "dallas" | "houston" | "austin" => "America/Chicago",
        "salt_lake_city" => "America/Denver",
        "ottawa" | "montreal" => "America/Toronto",
        "rio" | "rio_de_janeiro" | "brasilia" => "America/Sao_Paulo",
        "munich" | "hamburg" | "frankfurt" | "cologne" | "stuttgart" | "germany" => "Europe/Berlin",
        "geneva" | "bern" | "basel" => "Europe/Zurich",
        "milan" | "naples" => "Europe/Rome",
        "barcelona" => "Europe/Madrid",
        "lyon" | "marseille" => "Europe/Paris",
        "edinburgh" | "manchester" | "england" => "Europe/London",
        "the_hague" | "rotterdam" => "Europe/Amsterdam",
        "st_petersburg" => "Europe/Moscow",
        "canberra" => "Australia/Sydney",
        "wellington" => "Pacific/Auckland",
        "cape_town" => "Africa/Johannesburg",
        _ => return None,
    })
}

/// True if an argument must be valid, and may be invalid at run time because it is not constant.
/// The result of the call may then be missing. Such arguments are time zones, versions, names of
/// hash functions, numbers of buckets, and texts with a date or a time of day.
pub(super) fn may_be_invalid(function: Function, param: &str, arg: &Expr) -> bool {
    let must_be_valid = match (function, param) {
        (_, "zone") | (Function::Bucket, "hash" | "of") | (Function::Version, _) => true,
        (Function::Date | Function::Time, _) => arg.ty.kinds.overlaps(KindSet::STRING),
        _ => false,
    };
    must_be_valid && arg.as_const().is_none()
}
