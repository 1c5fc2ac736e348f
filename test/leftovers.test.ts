import { testLeftovers } from './leftovers.ts'

testLeftovers(4)
