export { reconcile } from './reconcile.workflow.js'
export { sweep } from './sweep.workflow.js'
