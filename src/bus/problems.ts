import { Problem } from '../base/problem.ts'

export function closedProblem(): Problem {
  return new Problem('shutting_down', 'The MQTT bus is not running.')
}

export function topicProblem(topic: string): Problem {
  const shown = JSON.stringify(topic.slice(0, 100))
  return new Problem(
    'body_invalid',
    `${shown} is not a topic: it must not be empty, too long, or have + or # in it.`,
  )
}

export function sharedProblem(filter: string): Problem {
  const shown = JSON.stringify(filter.slice(0, 100))
  return new Problem(
    'body_invalid',
    `${shown} is a shared subscription, which takes a broker of MQTT 5 (HOST_MQTT_URL): leave $share/ and the name behind it out.`,
  )
}

export function filterProblem(filter: string): Problem {
  const shown = JSON.stringify(filter.slice(0, 100))
  return new Problem(
    'body_invalid',
    `${shown} is not a topic filter: + must be a whole level, and # the whole last one.`,
  )
}
