//! The time of this machine.

pub(in crate::cli) fn now() -> jiff::Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the command line is where the clock is read")]
    jiff::Timestamp::now()
}

/// Formats a time for plans, journals and reports: RFC 3339, in UTC, without fractions of a second.
pub(in crate::cli) fn stamp(at: jiff::Timestamp) -> String {
    format!("{at:.0}")
}

/// Today in UTC: the day by which waivers expire.
pub(in crate::cli) fn today() -> jiff::civil::Date {
    now().to_zoned(jiff::tz::TimeZone::UTC).date()
}
