/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Objects;
import java.util.Properties;

/** The versions of Shardflake's SQL, in this program and in a database. */
enum SqlVersion {
    LIBRARY("the function library", "shardflake.library.version", "shardflake.library_version()"),
    CATALOG("the catalog", "shardflake.catalog.version", "shardflake_catalog.catalog_version()");

    /** The path of the file with versions on the class path, which the changelogs read as well. */
    static final String FILE = "shardflake/versions.properties";

    /** Reads the version without calling the function, which may be missing. */
    private static final String DEPLOYED =
            "COALESCE(substring(pg_get_function_sqlbody(to_regprocedure('%s')) FROM '[0-9]+')::integer, 0)";

    private final String what;
    private final String property;
    private final String function;

    SqlVersion(String what, String property, String function) {
        this.what = what;
        this.property = property;
        this.function = function;
    }

    /** The version in this program. */
    int own() {
        try (InputStream file = SqlVersion.class.getClassLoader().getResourceAsStream(FILE)) {
            Properties versions = new Properties();
            versions.load(Objects.requireNonNull(file));
            return Integer.parseInt(versions.getProperty(property));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The version in a database; 0 if it has none, or one from before versions were counted. */
    int deployed(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet version = statement.executeQuery("SELECT " + expression())) {
            version.next();
            return version.getInt(1);
        }
    }

    /** The SQL expression for the version in a database. */
    String expression() {
        return DEPLOYED.formatted(function);
    }

    /** @throws NewerVersionException if a database has a newer version than this program */
    void refuseNewer(Connection connection) throws SQLException {
        int deployed = deployed(connection);
        if (deployed > own()) {
            throw new NewerVersionException(what, deployed, own());
        }
    }
}
