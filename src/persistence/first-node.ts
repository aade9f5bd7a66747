import { Prisma } from './generated/client.js'

/** Nodes `n`, each with its status `s`, that something can be placed on. */
export const livingNodes = `FROM "Resource" n JOIN "NodeStatus" s ON s."resourceId" = n.id
  WHERE n.kind = 'node' AND n."deletionRequestedAt" IS NULL`

/**
 * What names no node lives on the one that joined first. Those of one moment go by id: were the order left to the database,
 * it would change with a row's place on disk, and with it the home of everything that names no node.
 */
export const joinedFirst = 'ORDER BY n."createdAt", n.id'

/** Name of that node; NULL while there is none. */
export const firstNodeName = Prisma.raw(`(SELECT n.name ${livingNodes} ${joinedFirst} LIMIT 1)`)
