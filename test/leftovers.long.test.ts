import { testLeftovers } from './leftovers.ts'

testLeftovers(20)
