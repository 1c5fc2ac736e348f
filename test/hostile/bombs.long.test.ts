import { attackWithBombs } from './bombs.ts'

attackWithBombs('dedicated')
