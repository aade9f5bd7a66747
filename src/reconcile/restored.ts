/** Why a resource is paused after a restore; `restoreConfirm` finds by it whom to resume. */
export const restoredPrefix = 'restored from the backup of '

export function restoredReason(madeAt: Date): string {
  return `${restoredPrefix}${madeAt.toISOString()}: look at its plan, then resume it`
}
