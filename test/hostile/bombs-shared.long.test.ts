import { attackWithBombs } from './bombs.ts'

attackWithBombs('shared')
