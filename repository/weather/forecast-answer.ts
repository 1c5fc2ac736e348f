/** What Open-Meteo answers, two days in London. */
export function forecastAnswer(current: Record<string, number> = {}) {
  return {
    latitude: 51.5,
    longitude: -0.12,
    utc_offset_seconds: 3600,
    timezone: 'Europe/London',
    current_units: { time: 'unixtime', temperature_2m: '°C' },
    current: {
      time: 1781960400,
      interval: 900,
      temperature_2m: 18.4,
      apparent_temperature: 17.9,
      relative_humidity_2m: 62,
      pressure_msl: 1016.2,
      precipitation: 0,
      cloud_cover: 40,
      wind_speed_10m: 11.5,
      wind_gusts_10m: 24.1,
      wind_direction_10m: 250,
      weather_code: 2,
      is_day: 1,
      ...current,
    },
    daily: {
      time: [1781910000, 1781996400],
      weather_code: [61, 3],
      temperature_2m_min: [12.1, 13.4],
      temperature_2m_max: [22.8, 24],
      precipitation_sum: [0.4, 0],
      precipitation_probability_max: [35, 10],
      wind_speed_10m_max: [19.8, 15.2],
      sunrise: [1781926980, 1782013380],
      sunset: [1781986860, 1782073260],
    },
  }
}
