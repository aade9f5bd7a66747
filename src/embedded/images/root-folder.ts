import { chmod, copyFile, cp, lstat, mkdir, readdir, realpath, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { run } from '../program.js'
import type { DebianPackages } from './debian-packages.js'

const CA_BUNDLE = '/etc/ssl/certs/ca-certificates.crt'

const USERS = [
  'root:x:0:0:root:/root:/bin/sh',
  'nginx:x:101:101:nginx:/nonexistent:/bin/false',
  'nobody:x:65534:65534:nobody:/nonexistent:/bin/false',
]
const GROUPS = ['root:x:0:', 'nginx:x:101:', 'nogroup:x:65534:']

/** The file tree of an image while it is being put together. */
export class RootFolder {
  constructor(readonly path: string) {}

  async addText(file: string, text: string, mode = 0o644): Promise<void> {
    await mkdir(dirname(join(this.path, file)), { recursive: true })
    await writeFile(join(this.path, file), text)
    await chmod(join(this.path, file), mode)
  }

  async addProgram(source: string, file: string): Promise<void> {
    await mkdir(dirname(join(this.path, file)), { recursive: true })
    await copyFile(source, join(this.path, file))
    await chmod(join(this.path, file), 0o755)
  }

  async addFolder(folder: string, mode = 0o755): Promise<void> {
    await mkdir(join(this.path, folder), { recursive: true })
    await chmod(join(this.path, folder), mode)
  }

  async addLink(link: string, target: string): Promise<void> {
    await mkdir(dirname(join(this.path, link)), { recursive: true })
    await symlink(target, join(this.path, link))
  }

  async addTree(source: string, folder: string): Promise<void> {
    await cp(source, join(this.path, folder), { recursive: true, verbatimSymlinks: true })
  }

  /** The certificates that this machine trusts, so that programs in the image can speak TLS. */
  async addCertificates(): Promise<void> {
    const found = await lstat(CA_BUNDLE).catch(() => undefined)
    if (!found) return
    await mkdir(join(this.path, dirname(CA_BUNDLE)), { recursive: true })
    await copyFile(CA_BUNDLE, join(this.path, CA_BUNDLE))
  }

  /** Folders, users and a shell with the usual small tools: what people expect to find in an image. */
  async addBusybox(packages: DebianPackages, scratch: string): Promise<void> {
    const unpacked = join(scratch, 'busybox')
    await packages.unpackWithDependencies(['busybox-static'], unpacked)
    const busybox = join(unpacked, 'usr', 'bin', 'busybox')
    for (const folder of [
      'etc',
      'proc',
      'sys',
      'dev',
      'run',
      'root',
      'home',
      'usr/bin',
      'usr/sbin',
      'usr/lib',
      'usr/lib64',
      'var',
    ]) {
      await this.addFolder(folder)
    }
    for (const folder of ['bin', 'sbin', 'lib', 'lib64']) await this.addLink(folder, join('usr', folder))
    for (const folder of ['tmp', 'var/tmp']) await this.addFolder(folder, 0o1777)
    await this.addProgram(busybox, 'usr/bin/busybox')
    for (const applet of (await run(busybox, ['--list'])).split('\n')) {
      if (applet !== '' && applet !== 'busybox') await this.addLink(join('usr/bin', applet), 'busybox')
    }
    await this.addText('etc/passwd', `${USERS.join('\n')}\n`)
    await this.addText('etc/group', `${GROUPS.join('\n')}\n`)
    await this.addText('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n')
    await this.addText('etc/os-release', 'ID=evenkeel-stand-in\nPRETTY_NAME="Evenkeel stand-in image"\n')
  }

  /**
   * A program out of unpacked packages with exactly the libraries that the packages' own loader finds for it;
   * the rest of the packages (perl, init scripts, documentation) is not needed to run it.
   */
  async addProgramWithLibraries(packagesRoot: string, program: string): Promise<void> {
    const libraryFolder = await findLibraryFolder(packagesRoot)
    const loader = await findLoader(packagesRoot)
    const list = await run(join(packagesRoot, loader), ['--library-path', libraryFolder, '--list', join(packagesRoot, program)])
    for (const library of parseLoaderList(list)) {
      await this.addProgram(await realpath(library), join(relative(packagesRoot, libraryFolder), basename(library)))
    }
    await this.addProgram(await realpath(join(packagesRoot, loader)), loader)
    await this.addProgram(join(packagesRoot, program), program)
  }
}

/** The library paths in what `ld.so --list` prints; the loader itself has no arrow. */
export function parseLoaderList(output: string): string[] {
  return [...output.matchAll(/ => (\/\S+) \(0x/g)].map(([, path = '']) => path)
}

async function findLibraryFolder(root: string): Promise<string> {
  const folders = (await readdir(join(root, 'usr/lib'))).filter((name) => name.endsWith('-linux-gnu'))
  if (!folders[0]) throw new Error(`no library folder in ${root}`)
  return join(root, 'usr/lib', folders[0])
}

/** Where programs expect their loader differs by architecture: /lib64/ld-linux-x86-64.so.2, /lib/ld-linux-aarch64.so.1. */
async function findLoader(root: string): Promise<string> {
  for (const folder of ['usr/lib64', 'usr/lib']) {
    const loader = (await readdir(join(root, folder))).find((name) => /^ld-linux.*\.so\.\d$/.test(name))
    if (loader) return join(folder, loader)
  }
  throw new Error(`no loader in ${root}`)
}
