import { join } from 'node:path'
import { ingressDefaults } from '../../reconcile/ingress/spec.js'
import { nginxdemoDefaultImage } from '../../reconcile/nginxdemo/spec.js'
import type { ImageConfig } from './image-archive.js'
import type { DebianPackages } from './debian-packages.js'
import { installGoProgram } from './go-program.js'
import type { RootFolder } from './root-folder.js'

/** The images that Evenkeel itself uses. A registry's image and its stand-in have the same name. */
export const NGINX_IMAGE = nginxdemoDefaultImage
export const BUSYBOX_IMAGE = 'busybox:1.37'
export const CADDY_IMAGE = ingressDefaults.image
export const COREDNS_IMAGE = 'coredns/coredns:1.15.0'

/** What a maker of a stand-in works with. */
export interface Workshop {
  /** For intermediate files; removed afterwards. */
  readonly scratch: string
  readonly cacheDir: string
  readonly packages: DebianPackages
}

/** How to make an image from local packages or source when no registry delivers it. */
export interface StandIn {
  /** It is tagged with all of these. */
  readonly names: readonly string[]
  /** For the log: "from Debian packages". */
  readonly origin: string
  /** No registry has it, so none is asked. */
  readonly localOnly?: boolean
  /** Fills the image's file tree and says how it runs. */
  make(root: RootFolder, workshop: Workshop): Promise<ImageConfig>
}

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

const busybox: StandIn = {
  names: [BUSYBOX_IMAGE, 'busybox:latest'],
  origin: 'from the Debian package busybox-static',
  async make(root, { packages, scratch }) {
    await root.addBusybox(packages, scratch)
    return { Env: [PATH], Cmd: ['sh'] }
  },
}

const NGINX_CONF = `user nginx;
worker_processes auto;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;
events {
    worker_connections 1024;
}
http {
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log /var/log/nginx/access.log;
    sendfile on;
    keepalive_timeout 65;
    include /etc/nginx/conf.d/*.conf;
}
`

const NGINX_DEFAULT_SITE = `server {
    listen 80;
    server_name localhost;
    location / {
        root /usr/share/nginx/html;
        index index.html index.htm;
    }
}
`

const nginx: StandIn = {
  names: [NGINX_IMAGE, 'nginx:latest'],
  origin: 'from the Debian package nginx',
  async make(root, { packages, scratch }) {
    const unpacked = join(scratch, 'nginx')
    await packages.unpackWithDependencies(['nginx'], unpacked)
    await root.addBusybox(packages, scratch)
    await root.addProgramWithLibraries(unpacked, 'usr/sbin/nginx')
    await root.addTree(join(unpacked, 'etc/nginx/mime.types'), 'etc/nginx/mime.types')
    await root.addText('etc/nginx/nginx.conf', NGINX_CONF)
    await root.addText('etc/nginx/conf.d/default.conf', NGINX_DEFAULT_SITE)
    await root.addText('usr/share/nginx/html/index.html', '<h1>Welcome to nginx!</h1>\n')
    for (const folder of ['var/lib/nginx', 'var/cache/nginx']) await root.addFolder(folder)
    await root.addLink('var/log/nginx/access.log', '/dev/stdout')
    await root.addLink('var/log/nginx/error.log', '/dev/stderr')
    return { Env: [PATH], Cmd: ['nginx', '-g', 'daemon off;'], ExposedPorts: { '80/tcp': {} }, StopSignal: 'SIGQUIT' }
  },
}

const CADDYFILE = `:80 {
	root * /usr/share/caddy
	file_server
}
`

const caddy: StandIn = {
  names: [CADDY_IMAGE, 'caddy:2'],
  origin: 'compiled from its Go module',
  async make(root, { packages, scratch, cacheDir }) {
    const program = await installGoProgram(cacheDir, 'github.com/caddyserver/caddy/v2/cmd/caddy', 'v2.11.9')
    await root.addBusybox(packages, scratch)
    await root.addCertificates()
    await root.addProgram(program, 'usr/bin/caddy')
    await root.addText('etc/caddy/Caddyfile', CADDYFILE)
    await root.addText('usr/share/caddy/index.html', '<h1>Caddy works!</h1>\n')
    for (const folder of ['config/caddy', 'data/caddy', 'srv']) await root.addFolder(folder)
    return {
      Env: [PATH, 'XDG_CONFIG_HOME=/config', 'XDG_DATA_HOME=/data'],
      Cmd: ['caddy', 'run', '--config', '/etc/caddy/Caddyfile', '--adapter', 'caddyfile'],
      WorkingDir: '/srv',
      ExposedPorts: { '80/tcp': {}, '443/tcp': {}, '443/udp': {}, '2019/tcp': {} },
    }
  },
}

const coredns: StandIn = {
  names: [COREDNS_IMAGE],
  origin: 'compiled from its Go module',
  async make(root, { cacheDir }) {
    await root.addCertificates()
    await root.addProgram(await installGoProgram(cacheDir, 'github.com/coredns/coredns', 'v1.15.0'), 'coredns')
    return { Entrypoint: ['/coredns'], WorkingDir: '/', ExposedPorts: { '53/tcp': {}, '53/udp': {} } }
  },
}

export const STAND_INS: readonly StandIn[] = [busybox, nginx, caddy, coredns]
