/** The optional fields of a record in the audit log, by the names that `audit.include.fields` takes. */
export const AUDIT_FIELDS = ["identity", "client", "server", "mcp_session", "policy", "reason", "metadata"] as const;

/** One of the optional fields. */
export type AuditField = (typeof AUDIT_FIELDS)[number];
