/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.BridgeMethodResolver;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.BeanReference;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** Refuses, at start-up, an {@link OnShard} with which every call of its method would fail. */
final class OnShardCheck {

    private static final Set<String> ALWAYS_THERE = Set.of("root", "this");

    private final DefaultParameterNameDiscoverer names = new DefaultParameterNameDiscoverer();
    private final Predicate<String> isBean;
    private final Runnable dataSource;

    OnShardCheck(Predicate<String> isBean, Runnable dataSource) {
        this.isBean = isBean;
        this.dataSource = dataSource;
    }

    /** Checks all methods of a bean's type, and that they can work on shards. */
    void check(Class<?> type) {
        dataSource.run();
        Class<?> written = ClassUtils.getUserClass(type);
        OnShard ofType = AnnotatedElementUtils.findMergedAnnotation(written, OnShard.class);
        boolean isUsable = ofType == null;
        for (Method method : methods(written)) {
            OnShard own = AnnotatedElementUtils.findMergedAnnotation(method, OnShard.class);
            if (own != null) {
                String problem = problem(own, method);
                if (problem != null) {
                    throw unusable(own, method.getDeclaringClass().getSimpleName() + "." + method.getName(), problem);
                }
            } else if (ofType != null && Modifier.isPublic(method.getModifiers())) {
                isUsable |= problem(ofType, method) == null;
            }
        }
        if (ofType != null && !isUsable) {
            checkAny(ofType, written);
        }
    }

    /** Requires that at least one method has the parameter; methods that are only called from inside may lack it. */
    private void checkAny(OnShard annotation, Class<?> type) {
        List<Method> all = methods(type);
        String problem = all.isEmpty() ? null : problem(annotation, all.get(0));
        if (problem != null) {
            throw unusable(annotation, type.getSimpleName(), problem);
        }
    }

    private static List<Method> methods(Class<?> type) {
        List<Class<?>> places = new ArrayList<>(List.of(type));
        places.addAll(Arrays.asList(ClassUtils.getAllInterfacesForClass(type)));
        List<Method> methods = new ArrayList<>();
        for (Class<?> place : places) {
            for (Method method : ReflectionUtils.getUniqueDeclaredMethods(place)) {
                if (!method.isSynthetic() && !method.getDeclaringClass().equals(Object.class) && !isOfProxy(method)) {
                    methods.add(BridgeMethodResolver.findBridgedMethod(method));
                }
            }
        }
        return methods;
    }

    private static boolean isOfProxy(Method method) {
        return Proxy.isProxyClass(method.getDeclaringClass());
    }

    private @Nullable String problem(OnShard annotation, Method method) {
        int modifiers = method.getModifiers();
        if (Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers)) {
            return "Spring cannot run a private or static method on a shard";
        }
        if (annotation.value().isEmpty() == annotation.id().isEmpty()) {
            return OnShardKeys.ONE_KEY;
        }
        String expression = annotation.id() + annotation.value();
        Set<String> variables = new HashSet<>();
        Set<String> beans = new HashSet<>();
        try {
            collect(new SpelExpressionParser().parseRaw(expression).getAST(), variables, beans);
        } catch (ParseException e) {
            return "\"%s\" is no expression: %s".formatted(expression, e.getSimpleMessage());
        }
        for (String bean : beans) {
            if (!isBean.test(bean)) {
                return "there is no bean \"%s\"".formatted(bean);
            }
        }
        String[] parameters = names.getParameterNames(method);
        variables.removeAll(ALWAYS_THERE);
        variables.removeAll(numbered(method.getParameterCount()));
        if (parameters == null) {
            return variables.isEmpty()
                    ? null
                    : "the names of its parameters are not in the class: compile it with -parameters, or write #p0 for the first";
        }
        variables.removeAll(Set.of(parameters));
        return variables.isEmpty()
                ? null
                : "it has no parameter %s, only %s"
                        .formatted(String.join(", ", variables), Arrays.toString(parameters));
    }

    private static List<String> numbered(int count) {
        return IntStream.range(0, count)
                .boxed()
                .flatMap(i -> List.of("a" + i, "p" + i).stream())
                .toList();
    }

    private static void collect(SpelNode node, Set<String> variables, Set<String> beans) {
        if (node instanceof VariableReference variable) {
            variables.add(variable.toStringAST().substring(1));
        }
        if (node instanceof BeanReference bean) {
            beans.add(bean.toStringAST().replaceFirst("^&?@", "").replaceAll("^'|'$", ""));
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            collect(node.getChild(i), variables, beans);
        }
    }

    private static ShardflakeStartException unusable(OnShard annotation, String place, String problem) {
        return new ShardflakeStartException(
                "%s on %s cannot be used: %s.".formatted(annotation, place, problem),
                "Correct the annotation: @OnShard(\"#uid\") takes the parameter uid as the key, @OnShard(id = \"#photoId\") the parameter photoId as an id.");
    }
}
