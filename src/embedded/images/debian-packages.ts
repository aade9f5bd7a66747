import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findOnPath, run } from '../program.js'
import { reasonOf } from '../reason.js'

/** Where a package archive comes from and the file name that apt gives it. */
export interface PackageFile {
  readonly uri: string
  readonly fileName: string
}

/** Package archives of this machine's Debian or Ubuntu, fetched with apt into a cache and unpacked without installing. */
export class DebianPackages {
  constructor(private readonly cacheDir: string) {}

  /** Unpacks the packages with all that they depend on, as for an empty system, into `root`. */
  async unpackWithDependencies(names: readonly string[], root: string): Promise<void> {
    await prepareRoot(root)
    for (const file of await this.fetch(names)) await unpack(file, root)
  }

  private async fetch(names: readonly string[]): Promise<string[]> {
    if (!(await findOnPath('apt-get'))) throw new Error('this is not Debian or Ubuntu (there is no apt-get)')
    await this.prepareCache()
    const files = await this.resolve(names, []).catch(async (error: unknown) => {
      // The machine's own package lists are missing or too old: keep lists of our own, which needs no root.
      const ownLists = ['-o', `Dir::State::lists=${join(this.cacheDir, 'lists')}`]
      await this.apt(['update'], ownLists)
      return this.resolve(names, ownLists).catch(() => {
        throw new Error(`apt does not know ${names.join(', ')}: ${reasonOf(error)}`)
      })
    })
    return files.map((file) => join(this.archives, file.fileName))
  }

  private async resolve(names: readonly string[], lists: readonly string[]): Promise<PackageFile[]> {
    const install = ['install', '-y', '--no-install-recommends', ...names]
    // An archive that is already there is left out of --print-uris, so the question is asked with an empty folder.
    const wanted = parseUris(
      await this.apt([...install, '--print-uris'], [...lists, '-o', `Dir::Cache::archives=${this.nothing}`]),
    )
    if (!(await this.haveAll(wanted))) await this.apt([...install, '--download-only'], lists)
    return wanted
  }

  private apt(args: readonly string[], options: readonly string[]): Promise<string> {
    const always = [
      `Dir::State::status=${join(this.cacheDir, 'empty-status')}`,
      `Dir::Cache=${this.cacheDir}`,
      `Dir::Cache::archives=${this.archives}`,
      'Debug::NoLocking=1',
      `APT::Sandbox::User=`,
      'APT::Keep-Downloaded-Packages=true',
    ]
    return run('apt-get', ['-q', '-q', ...always.flatMap((option) => ['-o', option]), ...options, ...args])
  }

  private async haveAll(files: readonly PackageFile[]): Promise<boolean> {
    const present = files.map((file) =>
      access(join(this.archives, file.fileName)).then(
        () => true,
        () => false,
      ),
    )
    return (await Promise.all(present)).every(Boolean)
  }

  private async prepareCache(): Promise<void> {
    for (const folder of [this.archives, this.nothing, join(this.cacheDir, 'lists')]) {
      await mkdir(join(folder, 'partial'), { recursive: true })
    }
    await writeFile(join(this.cacheDir, 'empty-status'), '')
  }

  private get archives(): string {
    return join(this.cacheDir, 'archives')
  }

  private get nothing(): string {
    return join(this.cacheDir, 'nothing')
  }
}

/** What `apt-get --print-uris` prints: 'URI' file-name size checksum. */
export function parseUris(output: string): PackageFile[] {
  return [...output.matchAll(/^'([^']+)' (\S+\.deb) /gm)].map(([, uri = '', fileName = '']) => ({ uri, fileName }))
}

/** Debian's merged layout: what older packages put into /lib lands in /usr/lib. */
async function prepareRoot(root: string): Promise<void> {
  for (const folder of ['bin', 'sbin', 'lib', 'lib64']) {
    await mkdir(join(root, 'usr', folder), { recursive: true })
    await symlink(join('usr', folder), join(root, folder))
  }
}

/** dpkg-deb's own extraction would replace the links of the merged layout by folders; tar can be told not to. */
async function unpack(archive: string, root: string): Promise<void> {
  const from = spawn('dpkg-deb', ['--fsys-tarfile', archive], { stdio: ['ignore', 'pipe', 'inherit'] })
  const to = spawn('tar', ['-x', '--keep-directory-symlink', '--no-same-owner', '-C', root], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  from.stdout.pipe(to.stdin)
  const codes = await Promise.all([once(from, 'close'), once(to, 'close')])
  if (codes.some(([code]) => code !== 0)) throw new Error(`${archive} cannot be unpacked`)
}
