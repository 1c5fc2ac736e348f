const radians = Math.PI / 180
const day = 86_400_000
/** The Julian date of 1 January 2000, noon, and of the Unix epoch. */
const epoch2000 = 2_451_545
const unixEpoch = 2_440_587.5
/** Degrees: the tilt of the Earth; where the upper rim of the sun is at the horizon, with refraction. */
const obliquity = 23.4397
const horizon = -0.833

const sine = (degrees: number): number => Math.sin(degrees * radians)
const cosine = (degrees: number): number => Math.cos(degrees * radians)

/**
 * Sunrise and sunset of one calendar day, as Unix times in milliseconds, to about two minutes; undefined where the sun
 * stays up or down. `noon`: about 12:00 there. Degrees, north and east are positive. By the sunrise equation.
 */
export function sunTimes(
  noon: number,
  latitude: number,
  longitude: number,
): { sunrise: number; sunset: number } | undefined {
  const days = Math.round(noon / day + longitude / 360 + unixEpoch - epoch2000 + 0.0008)
  const meanNoon = days - longitude / 360
  const anomaly = (357.5291 + 0.98560028 * meanNoon) % 360
  const centre = 1.9148 * sine(anomaly) + 0.02 * sine(2 * anomaly) + 0.0003 * sine(3 * anomaly)
  const ecliptic = (anomaly + centre + 180 + 102.9372) % 360
  const transit = epoch2000 + meanNoon + 0.0053 * sine(anomaly) - 0.0069 * sine(2 * ecliptic)
  const declinationSine = sine(ecliptic) * sine(obliquity)
  const declinationCosine = Math.sqrt(1 - declinationSine ** 2)
  const hourAngle =
    (sine(horizon) - sine(latitude) * declinationSine) / (cosine(latitude) * declinationCosine)
  if (!(Math.abs(hourAngle) <= 1)) return undefined
  const half = Math.acos(hourAngle) / radians / 360
  const instant = (julian: number): number => Math.round((julian - unixEpoch) * day)
  return { sunrise: instant(transit - half), sunset: instant(transit + half) }
}
