import { attackWithFloods } from './floods.ts'

attackWithFloods('shared')
