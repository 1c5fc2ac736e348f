// What `npm start` runs, in two files: an old Node cannot read the second one.
import './require-node.mjs'

void import('./start-host.mjs')
