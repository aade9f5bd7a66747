import { MemoryPassStore } from '../simulation/memory-pass-store.js'
import { openPostgresStore } from './postgres-store.js'
import { passStoreContract } from './pass-store.contract.js'

passStoreContract('memory', async () => ({ store: new MemoryPassStore({ dnsTtlSeconds: 5 }), close: async () => undefined }))
passStoreContract('PostgreSQL', openPostgresStore)
