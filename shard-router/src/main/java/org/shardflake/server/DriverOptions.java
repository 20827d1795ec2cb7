/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGProperty;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * The driver's options that are refused in a URL: they load a class or write a file in the process that reads the URL, and URLs come from the
 * shard map, from files and from the environment.
 */
final class DriverOptions {

    /** The system property that lists the classes which URLs may name, separated by commas. */
    static final String ALLOWED_CLASSES = "shardflake.driver.classes";

    /** Options whose value is a class, each with the options for that class's arguments. */
    private static final Map<PGProperty, Set<PGProperty>> CLASSES = Map.of(
            PGProperty.AUTHENTICATION_PLUGIN_CLASS_NAME, Set.of(),
            PGProperty.CONNECT_EXECUTOR, Set.of(PGProperty.CONNECT_EXECUTOR_ARG),
            PGProperty.SOCKET_FACTORY, Set.of(PGProperty.SOCKET_FACTORY_ARG),
            PGProperty.SSL_FACTORY, Set.of(PGProperty.SSL_FACTORY_ARG),
            PGProperty.SSL_HOSTNAME_VERIFIER, Set.of(),
            PGProperty.SSL_PASSWORD_CALLBACK, Set.of(),
            PGProperty.XML_FACTORY_FACTORY, Set.of());

    /** Properties that are never passed on, by name: the driver has deprecated the first two. */
    private static final List<String> NEVER = List.of("loggerFile", "loggerLevel", "classLoaderStrategy");

    private DriverOptions() {}

    /**
     * Refuses forbidden options, in whatever form the URL gives them.
     *
     * @throws IllegalArgumentException if there is one
     */
    static void check(PGSimpleDataSource source) {
        for (PGProperty option : PGProperty.values()) {
            if (NEVER.contains(option.getName()) && isSet(source, option)) {
                throw refused(option, "leave it out");
            }
        }
        CLASSES.forEach((option, arguments) -> {
            String name = value(source, option);
            if (name == null) {
                for (PGProperty argument : arguments) {
                    if (isSet(source, argument)) {
                        throw refused(argument, "leave it out");
                    }
                }
            } else if (!allowed().contains(name)) {
                throw refused(
                        option,
                        "leave it out, or allow the class with -D%s=%s in the JVM".formatted(ALLOWED_CLASSES, name));
            }
        });
    }

    private static Set<String> allowed() {
        return Set.copyOf(Arrays.stream(System.getProperty(ALLOWED_CLASSES, "").split(",", -1))
                .map(String::strip)
                .toList());
    }

    private static boolean isSet(PGSimpleDataSource source, PGProperty option) {
        return value(source, option) != null;
    }

    private static @Nullable String value(PGSimpleDataSource source, PGProperty option) {
        String value = source.getProperty(option);
        return value == null || value.equals(option.getDefaultValue()) ? null : value;
    }

    private static IllegalArgumentException refused(PGProperty option, String remedy) {
        String does = option.getName().toLowerCase(Locale.ROOT).startsWith("logger")
                ? "makes the driver write a file"
                : "makes the driver load a class";
        return ServerUrl.malformed("parameter %s %s; %s".formatted(option.getName(), does, remedy));
    }
}
