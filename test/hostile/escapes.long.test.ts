import { attackWithEscapes } from './escapes.ts'

attackWithEscapes('dedicated')
