import { attackWithEscapes } from './escapes.ts'

attackWithEscapes('shared')
