export { preview } from './preview.workflow.js'
export { reconcile } from './reconcile.workflow.js'
export { sweep } from './sweep.workflow.js'
