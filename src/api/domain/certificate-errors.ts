import { newestSealed } from '../../persistence/certificate-secrets.js'
import type { Transaction } from '../../persistence/database.js'
import type { PlacedValue } from '../../persistence/sealed.js'
import type { ApplicationSpec } from '../../reconcile/application/spec.js'
import type { UserErrorValue } from '../graphql/user-error.js'
import { certificateFault } from './certificate-check.js'

type CertificateError = UserErrorValue<'CERTIFICATE_UNFIT'>

interface Checked {
  projectId: string
  before: ApplicationSpec | null
  spec: ApplicationSpec
}

/**
 * Which certificates that a spec names do not serve their hosts. Looks only at what the write names anew: one that has
 * expired since must not keep back a change of something else. Paths are those of the spec.
 */
export async function certificateErrors(
  tx: Transaction,
  { projectId, before, spec }: Checked,
  vault: { open(value: PlacedValue): string },
  now: number,
): Promise<CertificateError[]> {
  const known = new Set((before?.domains ?? []).map((d) => `${d.host} ${d.certificate}`))
  const named = (spec.domains ?? []).flatMap(({ host, certificate }, index) =>
    certificate === undefined || known.has(`${host} ${certificate}`) ? [] : [{ host, certificate, index }],
  )
  const values = await newestSealed(tx, projectId, [...new Set(named.map((n) => n.certificate))])
  return named.flatMap(({ host, certificate, index }): CertificateError[] => {
    const value = values.get(certificate)
    const fault = value ? certificateFault(vault.open(value), host, now) : null // what is missing is told as such
    if (fault === null) return []
    const message = `the secret «${certificate}» cannot serve ${host}: ${fault}`
    return [{ field: ['domains', String(index), 'certificate'], message, code: 'CERTIFICATE_UNFIT' }]
  })
}
