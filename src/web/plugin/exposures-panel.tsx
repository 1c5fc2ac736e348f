import type { Exposed, Plugin } from '../base/types.ts'
import { breakable } from '../parts/breakable.tsx'
import { EmptyOfPlugin, ReadState } from '../parts/feedback.tsx'
import { setValue } from '../store/commands.ts'
import { ValueInput } from '../parts/inputs/value-input.tsx'
import { useExposures } from '../store/values.ts'
import { tell } from '../store/notices.ts'
import {
  featureName,
  inputOf,
  namesWithDevices,
  shownFeatures,
  stateText,
  unitOf,
} from './exposed-feature.ts'

/** What the plugin shows to Home Assistant, and here. */
export function ExposuresPanel({ plugin }: { plugin: Plugin }) {
  const { exposures, remote } = useExposures(plugin)
  const nameOf = namesWithDevices((exposures ?? []).map(({ exposure }) => exposure))
  return (
    <section class="panel">
      <h2>Exposed</h2>
      <ReadState remote={remote} what="what it exposes" />
      {exposures?.length === 0 ? <EmptyOfPlugin plugin={plugin} nothing="exposes nothing" /> : null}
      <ul class="points" aria-label="Exposed">
        {exposures?.map((exposed) => (
          <ExposedItem key={exposed.id} plugin={plugin} exposed={exposed} name={nameOf(exposed.exposure)} />
        ))}
      </ul>
    </section>
  )
}

function ExposedItem({ plugin, exposed, name }: { plugin: Plugin; exposed: Exposed; name: string }) {
  const { type, area, component } = exposed.exposure
  const features = shownFeatures(exposed.exposure)
  const [only] = features
  const hint = [type.replaceAll('_', ' '), area].filter(Boolean).join(' · ')
  if (features.length === 1 && only !== undefined)
    return (
      <li class="point">
        <span>
          {name}
          <small class="hint">{hint}</small>
        </span>
        <Feature plugin={plugin} exposed={exposed} feature={only} label={name} />
      </li>
    )
  return (
    <li class="exposed">
      <h3>
        {name} <small class="hint">{hint}</small>
      </h3>
      <ul class="points" aria-label={`${name}, ${component}`}>
        {features.map((feature) => (
          <li key={feature} class="point">
            <span>{featureName(feature)}</span>
            <Feature
              plugin={plugin}
              exposed={exposed}
              feature={feature}
              label={`${name}, ${featureName(feature).toLowerCase()}`}
            />
          </li>
        ))}
      </ul>
    </li>
  )
}

interface FeatureProps {
  plugin: Plugin
  exposed: Exposed
  feature: string
  label: string
}

function Feature({ plugin, exposed: { id, exposure, state }, feature, label }: FeatureProps) {
  const input = inputOf(exposure, feature)
  const value = state[feature]

  const isButton = exposure.component === 'button'
  const isOnlySet = isButton || !exposure.features.includes(feature)

  async function set(next: unknown): Promise<boolean | undefined> {
    const path = `/exposures/${encodeURIComponent(id)}/${encodeURIComponent(feature)}`
    const isTaken = await setValue(plugin.id, path, next, { everyOne: isOnlySet })
    if (isTaken === true && isOnlySet) tell(`${exposure.name} ${isButton ? 'is pressed' : 'has been told'}.`)
    return isTaken
  }

  return (
    <>
      {isOnlySet || input?.kind === 'choice' ? null : (
        <output class="value">
          {breakable(stateText(exposure, value))}{' '}
          {value === null || value === undefined ? '' : unitOf(exposure, feature)}
        </output>
      )}
      {input === undefined ? null : <ValueInput label={label} input={input} value={value} onSet={set} />}
    </>
  )
}
