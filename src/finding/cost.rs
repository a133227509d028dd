//! What resources cost while nothing uses them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The monthly cost of the resources of a finding, at prices that the operator gave: without traffic, and without what is
/// billed by use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonthlyCost {
    pub amount: Amount,
    /// Three capital letters (ISO 4217).
    pub currency: String,
    /// The day of the prices, as `2026-11-20`.
    pub prices_of: String,
    /// True if one of the resources has no price: the amount is that of the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_minimum: bool,
}

impl MonthlyCost {
    /// The cost, to follow a semicolon.
    pub(crate) fn describe(&self) -> String {
        let word = if self.is_minimum { "at least" } else { "about" };
        format!("{word} {} {} a month at the prices of {}", self.amount, self.currency, self.prices_of)
    }
}

/// An amount of money, in millionths: sums of rounded amounts would be wrong. A sentence has two places, a document has as many as
/// the amount needs, at least two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Amount(u64);

const PLACES: usize = 6;

impl Amount {
    pub(crate) fn of_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// The amount in units of its currency, for a sample.
    pub(crate) fn units(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a sample is a float")]
        let micros = self.0 as f64;
        micros / 1e6
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = self.0.saturating_add(5_000) / 10_000;
        write!(f, "{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (whole, places) = text.split_once('.').filter(|(_, places)| (2..=PLACES).contains(&places.len()))?;
            let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if !is_digits(whole) || !is_digits(places) {
                return None;
            }
            let micros: u64 = format!("{places:0<PLACES$}").parse().ok()?;
            whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(micros)
        };
        read().map(Self).ok_or_else(|| format!("`{text}` is not an amount with two to six places"))
    }
}

impl TryFrom<String> for Amount {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Amount> for String {
    fn from(Amount(micros): Amount) -> Self {
        let mut places = format!("{:06}", micros % 1_000_000);
        while places.len() > 2 && places.ends_with('0') {
            places.pop();
        }
        format!("{}.{places}", micros / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::Amount;

    #[test]
    fn amounts_are_rounded_and_read_back() {
        for (micros, shown, written) in [
            (16_425_000, "16.43", "16.425"),
            (3_650_000, "3.65", "3.65"),
            (4_999, "0.00", "0.004999"),
            (5_000, "0.01", "0.005"),
            (0, "0.00", "0.00"),
            (8_000_000, "8.00", "8.00"),
        ] {
            let amount = Amount::of_micros(micros);
            assert_eq!(amount.to_string(), shown);
            assert_eq!(String::from(amount), written);
            assert_eq!(written.parse(), Ok(amount));
        }
        for text in ["", "1", "1.5", "1.2345678", "-1.00", "a.bc", "1.+1"] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
    }
}
