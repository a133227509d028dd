//! The time of this machine.

pub(super) fn now() -> jiff::Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the command line is where the clock is read")]
    jiff::Timestamp::now()
}

/// A time as plans, journals and reports hold it: RFC 3339, in UTC, without fractions of a second.
pub(super) fn stamp(at: jiff::Timestamp) -> String {
    format!("{at:.0}")
}

/// The day by which waivers expire: today, in UTC.
pub(super) fn today() -> jiff::civil::Date {
    now().to_zoned(jiff::tz::TimeZone::UTC).date()
}
