import { attackWithLoops } from './loops.ts'

attackWithLoops('dedicated')
