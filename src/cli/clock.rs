//! The time of this machine.

pub(super) fn now() -> jiff::Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the command line is where the clock is read")]
    jiff::Timestamp::now()
}

/// Formats a time for plans, journals and reports: RFC 3339, in UTC, without fractions of a second.
pub(super) fn stamp(at: jiff::Timestamp) -> String {
    format!("{at:.0}")
}

/// Today in UTC: the day by which waivers expire.
pub(super) fn today() -> jiff::civil::Date {
    now().to_zoned(jiff::tz::TimeZone::UTC).date()
}
