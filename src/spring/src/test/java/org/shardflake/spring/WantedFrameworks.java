/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;
import org.springframework.context.EnvironmentAware;
import org.springframework.core.env.Environment;

/** Leaves out the frameworks of {@link FrameworksTest} in the other tests, and there all but one. */
final class WantedFrameworks implements AutoConfigurationImportFilter, EnvironmentAware {

    static final String PROPERTY = "test.framework";

    private static final List<String> ALL = List.of("Flyway", "Quartz", "Batch", "Session");

    private String wanted = "";

    @Override
    public void setEnvironment(Environment environment) {
        wanted = environment.getProperty(PROPERTY, "");
    }

    @Override
    public boolean[] match(@Nullable String[] classes, AutoConfigurationMetadata metadata) {
        boolean[] matches = new boolean[classes.length];
        for (int i = 0; i < classes.length; i++) {
            String name = classes[i];
            matches[i] = name == null
                    || ALL.stream()
                            .filter(framework -> !framework.equals(wanted))
                            .noneMatch(framework -> isOf(name, framework));
        }
        return matches;
    }

    private static boolean isOf(String name, String framework) {
        return Arrays.asList(name.split("[.]")).contains(framework.toLowerCase(Locale.ROOT));
    }
}
