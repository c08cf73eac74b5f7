"""Dates and times: now, in another zone, later or earlier, and how far apart."""

from datetime import datetime, timedelta
from typing import Optional
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

EFFECT = "read"


def date_time(
    at: Optional[str] = None,
    timezone: str = "UTC",
    add_days: float = 0,
    add_hours: float = 0,
    add_minutes: float = 0,
    until: Optional[str] = None,
) -> dict:
    """Returns the time: now or at a given moment, in a time zone, shifted, with weekday, week and distance to another moment.

    Args:
        at: Moment in ISO 8601 to start from; now when left out. Without an offset it is taken in `timezone`.
        timezone: Name of a time zone, such as Europe/Berlin.
        add_days: Days to add; negative to go back.
        add_hours: Hours to add.
        add_minutes: Minutes to add.
        until: Another moment in ISO 8601; the answer then includes the distance to it.
    """
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(f"there is no time zone {timezone!r}") from None

    moments = []
    for given in (at, until):
        moment = datetime.fromisoformat(given.strip().replace("Z", "+00:00")) if given else datetime.now(zone)
        moments.append(moment.replace(tzinfo=zone) if moment.tzinfo is None else moment)
    moment = (moments[0] + timedelta(days=add_days, hours=add_hours, minutes=add_minutes)).astimezone(zone)
    year, week, _ = moment.isocalendar()
    answer = {
        "iso": moment.isoformat(timespec="seconds"),
        "utc": moment.astimezone(ZoneInfo("UTC")).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "unix": int(moment.timestamp()),
        "date": moment.date().isoformat(),
        "time": moment.strftime("%H:%M:%S"),
        "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")[moment.weekday()],
        "week": f"{year}-W{week:02d}",
        "day_of_year": moment.timetuple().tm_yday,
    }
    if until:
        seconds = round((moments[1] - moment).total_seconds())
        days, rest = divmod(abs(seconds), 86_400)
        answer["until"] = {"seconds": seconds, "days": days, "hours": rest // 3600, "minutes": rest % 3600 // 60, "past": seconds < 0}
    return answer
