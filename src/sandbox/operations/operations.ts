import type { Operation } from '../../schema/worker/operation.ts'
import type { IsolateServices } from '../isolate.ts'

/** What the dispatcher does itself, because it remembers something of it. */
type KeptByDispatcher =
  | ('resources' | 'call' | 'cancel' | 'limitReached')
  | ('openConnection' | 'closeConnection')
  | ('connectionTaken' | 'connectionOverlong' | 'connectionContinues')

/** Calls the service that an operation asks for. */
export function perform(
  services: IsolateServices,
  operation: Exclude<Operation, { kind: KeptByDispatcher }>,
): void {
  switch (operation.kind) {
    case 'subscribeEvent':
      services.subscribeEvent(operation.name)
      break
    case 'unsubscribeEvent':
      services.unsubscribeEvent(operation.name)
      break
    case 'subscribeTopic':
      services.subscribeTopic(operation.subscription, operation.filter)
      break
    case 'unsubscribeTopic':
      services.unsubscribeTopic(operation.subscription)
      break
    case 'removeValue':
      services.removeValue(operation.of, operation.id)
      break
    case 'setExposure':
      services.setExposure(operation.id, operation.exposure)
      break
    case 'removeExposure':
      services.removeExposure(operation.id)
      break
    case 'setHttpHandler':
      services.setHttpHandler(operation.handler, operation.hook)
      break
    case 'removeHttpHandler':
      services.removeHttpHandler(operation.handler)
      break
    case 'removeSchedule':
      services.removeSchedule(operation.schedule)
      break
    case 'unwatch':
      services.unwatch(operation.watch)
      break
    case 'setKeyValue':
      services.setKeyValue(operation.key, operation.entry)
      break
  }
}
