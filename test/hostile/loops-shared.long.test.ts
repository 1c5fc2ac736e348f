import { attackWithLoops } from './loops.ts'

attackWithLoops('shared')
