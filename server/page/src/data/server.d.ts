// Made from the OpenAPI document by go test ./server -run TestPageTypes -update.
export interface components {
    schemas: {
        /** @description The whole database. It may have fields that are neither collections nor objects. */
        Database: Record<string, never>;
        /** @description What went wrong (RFC 9457). */
        Problem: {
            type: string;
            title: string;
            status: number;
            detail: string;
            /** @description Of invalid JSON, from 1. */
            line?: number;
            /** @description Of invalid JSON, from 1, in characters. */
            column?: number;
            errors?: {
                /** @description Where in the body (RFC 6901). */
                pointer?: string;
                /** @description Where in the record, if the body is a JSON Patch of it. */
                member?: string;
                /** @description Which parameter of the URL. */
                parameter?: string;
                detail: string;
                /** @description What was probably meant: in place of the value, or of the unknown name. */
                suggestion?: string;
            }[];
            /** @description Of 404: those that there are. */
            collections?: string[];
            /** @description Of 404: the name that was probably meant. */
            suggestion?: string;
            /** @description The records that other changes have touched, or without id whole fields. */
            conflicts?: {
                collection: string;
                id?: string;
                /** @description Those that both sides have changed; none: the whole is in conflict. */
                fields?: string[];
            }[];
        };
        Link: {
            name: string;
            /** @description Records of a collection. */
            count?: number;
            href: string;
        };
        Index: {
            name: string;
            version: string;
            collections: components["schemas"]["Link"][];
            objects: components["schemas"]["Link"][];
            service: components["schemas"]["Link"][];
        };
        Health: {
            /** @enum {string} */
            status: "alive" | "ready" | "not ready";
            checks?: {
                name: string;
                status: string;
            }[];
            count?: number;
            findings?: components["schemas"]["Finding"][];
        };
        /** @description Something wrong with the file or its rules. */
        Finding: {
            /** @description Not of an edit. */
            file?: string;
            /** @description From 1. */
            line?: number;
            /** @description From 1, in characters. */
            column?: number;
            /** @description Where in the file (RFC 6901). */
            pointer?: string;
            /** @description Of the record. */
            collection?: string;
            /** @description Of the record. */
            id?: string;
            detail: string;
            /** @description As in a problem. */
            suggestion?: string;
            /**
             * @description An edit of the file that has undone what clients had written.
             * @constant
             */
            kind?: "edit";
            /** @description The revision of the edit. */
            rev?: string;
            /**
             * Format: date-time
             * @description When it became visible.
             */
            at?: string;
            /** @description What the edit undid, without what has been put back. */
            records?: components["schemas"]["Elements"];
        };
        Elements: {
            collection: string;
            /** @description Of a record. */
            id?: string;
        }[];
        /** @description A value of a field and how many records have it. */
        ValueCount: {
            /** @description A text, a number, true, false or null. An array counts as its elements. */
            value: unknown;
            count: number;
        };
        /** @description A file that the service reads. */
        SourceFile: {
            name: string;
            /** @description In bytes. */
            size?: number;
            /** Format: date-time */
            modified?: string;
            /** @enum {string} */
            state: "ok" | "broken" | "missing";
            /** @description Where it is broken, from 1. */
            line?: number;
            column?: number;
            detail?: string;
            folder?: boolean;
            /** @description In a folder: whose file is broken. The others can be written. */
            collection?: string;
            /** @description What is around that place. */
            excerpt?: {
                /** @description A part of the line, up to 200 characters. */
                text: string;
                /** @description The character of text that is at the place, from 1. */
                caret: number;
            };
        };
        /** @description What a user interface needs at start. */
        Status: {
            version: string;
            /** @description Whose credentials the request has. */
            user?: string;
            /** @description The revision that this is about. */
            rev: string;
            /** @description Whose collections these are. */
            session?: string;
            /** @description What the paths of the collections begin with. */
            prefix?: string;
            /** @description The envelope of lists and records. */
            answers?: {
                list?: string;
                total?: string;
                record?: string;
            };
            /** @description The file of the database. A session has none. */
            file?: components["schemas"]["SourceFile"];
            /** @description The file of the rules, if there is one. */
            rules?: components["schemas"]["SourceFile"];
            mode: {
                /** @description Writes are refused. */
                readOnly: boolean;
                /** @description Writes do not change the file. */
                ephemeral: boolean;
                /** @description Answers can be simulated. */
                simulate: boolean;
                /** @description Requests are recorded. */
                requests: boolean;
                /** @description There can be sessions. */
                sessions: boolean;
            };
            collections: {
                name: string;
                href: string;
                count: number;
                /** @description The field with the id. */
                key: string;
                /** @description What one of its records is called. */
                record: string;
                /** @description The entity tag of the list of all records. */
                tag: string;
            }[];
            objects: {
                name: string;
                href: string;
            }[];
            relations: {
                /** @description The collection with the field. */
                from: string;
                member: string;
                /** @description The collection that it refers to. */
                to: string;
                /** @description The field holds a list of ids. */
                list: boolean;
                /** @enum {string} */
                onDelete?: "restrict" | "cascade" | "set-null";
                /** @description The name for _embed in the other collection. */
                embed?: string;
                /** @description The name for _expand. */
                expand?: string;
            }[];
            findings?: {
                count: number;
                /** @description The count is from an earlier state. */
                pending: boolean;
            };
            /** @description The open streams by path, the paths with most streams first. */
            streams?: {
                path: string;
                count: number;
            }[];
            values?: string[];
            /** @description Kept sessions with changes. */
            review?: {
                name: string;
                changes: number;
            }[];
            /** @description The URLs at which other machines may reach the service. */
            addresses?: string[];
            limits: {
                /** @description The size of a body in bytes. */
                body: number;
                /** @description The number of different parameters of a query. */
                terms: number;
                /** @description The number of records of a page; 0 is unlimited. */
                page: number;
            };
        };
        /** @description A request that was answered. Values that may be secret are hidden. */
        Request: {
            id: string;
            /** @description Its X-Request-Id. */
            request: string;
            /** Format: date-time */
            at: string;
            method: string;
            /** @description As sent. */
            path: string;
            query?: string;
            /** @description The session that it names. */
            session?: string;
            /** @description 0 if the connection was cut. */
            status: number;
            /** @description Until it was answered, in milliseconds. */
            ms: number;
            /** @description The size of the answer. */
            bytes: number;
            origin?: string;
            agent?: string;
            /** @description The Content-Type of its body. */
            type?: string;
            /** @description What was simulated, as in delay=500, code=503. */
            simulated?: string;
            problem?: components["schemas"]["Problem"];
        };
        /** @description A request with the first 16 KiB of its body and of the answer, where they are JSON. */
        RequestBodies: {
            body?: string;
            answer?: string;
            /** @description One of them was longer. */
            truncated?: boolean;
        } & components["schemas"]["Request"];
        /** @description A fork of the database under a name. */
        Session: {
            name: string;
            /** @description The latest revision of the fork. */
            rev: string;
            /**
             * Format: date-time
             * @description When it began.
             */
            at: string;
            /**
             * Format: date-time
             * @description When a request last used it.
             */
            used: string;
            /** @description The size of the values that it has changed. */
            bytes: number;
            /** @description How many are not committed. */
            changes: number;
            /** @description They wait for a person. */
            kept: boolean;
        };
        /** @description What is done to which requests. The first rule that matches applies. */
        SimulationRule: {
            readonly id?: string;
            /** @description How often the rule was applied. */
            readonly hits?: number;
            /** @description Of the requests: * is one segment, ** the rest. */
            path?: string;
            /** @description Of the requests; none means all. */
            methods?: string[];
            /** @description Of the requests, as in a URL. */
            query?: string;
            "request-headers"?: Record<string, never>;
            where?: string;
            /** @description Milliseconds, or a range of them, as in 200-800. */
            delay?: number | string;
            /** @description The status of the answer: 400 to 599, with body 200 to 599. */
            code?: number;
            /** @enum {string} */
            fault?: "connection-reset" | "empty-response" | "lost-answer";
            /** @description Until this name is released. */
            hold?: string;
            /** @description Of the requests that match. */
            percent?: number;
            /** @description How many requests pass first. */
            after?: number;
            /** @description How often the rule applies. */
            times?: number;
            /** @description The body of the answer. */
            body?: unknown;
            /** @description Headers of the answer. */
            headers?: {
                [key: string]: string;
            };
        };
        /** @description A request that waits to be released. */
        Hold: {
            name: string;
            method: string;
            path: string;
            /** Format: date-time */
            since: string;
            session?: string;
        };
        Released: {
            /** @description The number of requests. */
            released: number;
        };
        SessionRequest: {
            /** @description now, baseline (the contents at startup or after the latest edit by hand), or a snapshot. */
            from?: string;
            /** @description Its changes wait for a person. */
            keep?: boolean;
            /** @description Those of a kept session of that name are dropped. */
            discard?: boolean;
        };
        /** @description One step of the database. */
        Revision: {
            /** @description Its id: the run of the server and a number. */
            rev: string;
            /** Format: date-time */
            at: string;
            /**
             * @description A request, an edit of the file, or another server of a cluster.
             * @enum {string}
             */
            by: "api" | "file" | "elsewhere";
            /** @description Its X-Request-Id. */
            request?: string;
            /** @description The session whose commit it is. */
            session?: string;
            /** @description The revision that it has reverted. */
            undoes?: string;
            changes: components["schemas"]["Changes"];
            collections?: components["schemas"]["ChangeCounts"];
        };
        Changes: {
            collection: string;
            id?: string;
            /** @enum {string} */
            op: "created" | "updated" | "deleted";
            before?: unknown;
            after?: unknown;
            /** @description Of a collection made or removed above 64 KiB: the number of records. */
            records?: number;
        }[] | null;
        /** @description The number of changes in each collection, if there are too many to list. */
        ChangeCounts: {
            [key: string]: number;
        };
        UndoRequest: {
            /** @description The revision to undo instead of the newest, also one of an edit of the file. The undo of an undo is a redo. */
            rev?: string;
            /** @description The part of an edit of the file that is undone. */
            only?: components["schemas"]["Elements"];
        };
        CommitRequest: {
            /**
             * @description Which side counts where both have changed the same.
             * @enum {string}
             */
            take?: "session" | "database";
        };
        ResetRequest: {
            /** @description The name of a snapshot. */
            to?: string;
        };
        Restored: {
            /** @description The revision that has restored the values. */
            rev: string;
            /** @description Of an undo: what is undone. */
            undone?: string;
            /** @description Of a reset: the name of the snapshot, or baseline. */
            to?: string;
            /** @description Of a commit: the session that has made the changes. */
            session?: string;
            changes: components["schemas"]["Changes"];
            collections?: components["schemas"]["ChangeCounts"];
        };
        Transaction: {
            /** @enum {string} */
            op: "create" | "update" | "replace" | "delete" | "set" | "remove" | "rename" | "unset";
            /** @description A collection, an object, or for set and remove any top-level field. */
            collection: string;
            /** @description Of update, replace and delete, unless it is an object. */
            id?: string | number;
            /** @description On from the record or object to a nested value. */
            path?: string[];
            /** @description Of create, update and replace. */
            record?: Record<string, never>;
            /** @description Of update: fields that it removes. */
            unset?: string[];
            /** @description Fields that must have these values. null also stands for a missing one. */
            if?: Record<string, never>;
            /** @description Of set. */
            value?: unknown;
            /** @description Of rename and unset: the field of all records. */
            field?: string;
            /** @description Of rename: the new name. */
            to?: string;
        }[];
        Transacted: {
            rev: string;
            /** @description One for each operation: what it has stored, or null. */
            records: unknown[];
        };
        GenerateRequest: {
            collections: {
                [key: string]: number;
            };
            seed?: number;
            /** Format: date-time */
            now?: string;
        };
        Generated: {
            rev: string;
            seed: number;
            made: {
                [key: string]: string[];
            };
            /** @description With tx=rollback. */
            records?: Record<string, never>;
        };
        /** @description A state of the database that is kept under a name. */
        NamedSnapshot: {
            name: string;
            /** @description The revision that it shows. */
            rev: string;
            /**
             * Format: date-time
             * @description When it was kept.
             */
            at: string;
            /** @description In all collections. */
            records: number;
            /** @description How many records were added, changed or removed since. */
            differing: number;
        };
    };
}
