import type { ArgsOf, ResultOf } from '../reconcile/action.js'
import { belongsTo } from '../reconcile/labels.js'
import { ActionFailure } from './action-failure.js'
import type { ActionContext } from './executor.js'
import { whose } from './ownership.js'

/** What does not carry this resource's labels is never removed, whatever it is called; one that is gone already is success. */
export async function removeVolume(
  { name }: ArgsOf<'removeVolume'>,
  { engine, owner }: ActionContext,
): Promise<ResultOf['removeVolume']> {
  const labels = await engine.volumeLabels(name)
  if (labels === null) return { removed: false }
  if (!belongsTo(labels, owner))
    throw new ActionFailure('VolumeForeign', `the volume ${name} is not removed: it is one ${whose(labels, owner)}`, false)
  await engine.removeVolume(name)
  return { removed: true }
}
